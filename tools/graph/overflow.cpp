#include "tools/graph/overflow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/lower_case.h"
#include "tools/graph/dump_reader.h"
#include "tools/recordings/call_rules.h"
#include "tools/recordings/not_finite.h"
#include "tools/recordings/overflowed_sum.h"
#include "tools/recordings/python_text.h"

namespace msrun::graph {
namespace {

constexpr double norm_jump = 100;

bool is_abnormal(const JsonNode& value) {
  if (value.kind() == JsonEvent::real) return !std::isfinite(value.number());
  return value.is_string() && recordings::not_finite_of(value.text()).has_value();
}

double number_of(const std::optional<JsonNode>& value) {
  if (value && value->is_number()) return value->number();
  const std::optional<double> named =
      value && value->is_string() ? recordings::not_finite_of(value->text()) : std::nullopt;
  return named.value_or(std::numeric_limits<double>::quiet_NaN());
}

bool is_overflowed_mean(const JsonNode& leaf, const JsonNode& mean) {
  const std::optional<JsonNode> shape = find_member(leaf, "shape");
  if (!shape || !shape->is_array()) return false;
  const recordings::Extent extent{number_of(find_member(leaf, "Max")), number_of(find_member(leaf, "Min")),
                                  recordings::elements_of(recordings::python_text(*shape))};
  return recordings::is_overflowed_sum(recordings::mean_value, number_of(mean), extent);
}

bool is_nan(const JsonNode& value) {
  if (value.kind() == JsonEvent::real) return std::isnan(value.number());
  return value.is_string() && std::isnan(recordings::not_finite_of(value.text()).value_or(0));
}

// What is abnormal in the members of a call.
class Abnormal {
 public:
  explicit Abnormal(bool compat) : compat_(compat) {}

  // Whether one of the statistics of a leaf says so.
  bool leaf(const JsonNode& leaf) const {
    for (const char* key : {"Max", "Min"}) {
      if (const std::optional<JsonNode> value = find_member(leaf, key); value && is_abnormal(*value)) return true;
    }
    if (!compat_) {
      // A scalar: an infinity that a call is given is none that it makes.
      if (const std::optional<JsonNode> value = find_member(leaf, "value"); value && is_abnormal(*value)) return true;
    }
    const std::optional<JsonNode> mean = find_member(leaf, "Mean");
    return mean && is_abnormal(*mean) && (compat_ || !is_overflowed_mean(leaf, *mean));
  }

  bool any(const JsonNode& nodes) const {
    for (const JsonNode child : nodes) {
      if (member(child)) return true;
    }
    return false;
  }

  // Whether a tensor has a NaN among its elements.
  bool any_nan(const JsonNode& nodes) const {
    for (const JsonNode child : nodes) {
      if (is_group(child)) {
        if (any_nan(child)) return true;
        continue;
      }
      for (const char* key : {"Max", "Min"}) {
        if (const std::optional<JsonNode> value = find_member(child, key); value && is_nan(*value)) return true;
      }
    }
    return false;
  }

  bool compat() const { return compat_; }

  // A leaf, or a list or dictionary that holds some. msprobe does not look into dictionaries.
  bool member(const JsonNode& child) const { return is_group(child) ? any(child) : leaf(child); }

 private:
  bool is_group(const JsonNode& child) const {
    return child.is_array() || (!compat_ && child.is_object() && !find_member(child, "type"));
  }

  const bool compat_;  // as msprobe 1.2.1, which takes a mean that overflowed over finite values for an infinity
};

// The arguments of a call by position and by name, or its results.
struct Members {
  std::optional<JsonNode> list;
  std::optional<JsonNode> named;

  bool any(const Abnormal& abnormal) const { return (list && abnormal.any(*list)) || (named && abnormal.any(*named)); }

  bool any_nan(const Abnormal& abnormal) const {
    return (list && abnormal.any_nan(*list)) || (named && abnormal.any_nan(*named));
  }

  // Largest norm of the tensors that are direct members.
  std::optional<double> largest_norm() const {
    std::optional<double> largest;
    for (const std::optional<JsonNode>& nodes : {list, named}) {
      if (!nodes) continue;
      for (const JsonNode leaf : *nodes) {
        const std::optional<JsonNode> type = find_member(leaf, "type");
        if (!type || !type->is_string()) continue;
        if (type->text() != "torch.Tensor" && type->text() != "mindspore.Tensor") continue;
        const std::optional<JsonNode> norm = find_member(leaf, "Norm");
        if (!norm || !norm->is_number() || std::isnan(norm->number())) continue;
        largest = std::max(largest.value_or(norm->number()), norm->number());
      }
    }
    return largest;
  }
};

// Leaves whose content means nothing: uninitialised memory that the call fills or hands out.
struct Ignored {
  std::string_view api;  // in small letters
  bool first_input = false;
  std::string_view named_input;  // empty: none
  bool first_output = false;
};

constexpr auto ignored_leaves = std::to_array<Ignored>({
    {"torch.empty", false, "", true},
    {"torch.empty_like", false, "", true},
    {"torch.empty_strided", false, "", true},
    {"distributed.recv", true, "tensor", false},
    {"distributed.reduce_scatter", true, "output", false},
    {"distributed.all_gather", true, "", false},
    {"distributed._reduce_scatter_base", true, "", false},
    {"distributed.all_gather_into_tensor", true, "", false},
    {"distributed.reduce_scatter_tensor", true, "", false},
    {"tensor.masked_fill_", true, "", false},
});

bool all_listed(const std::optional<JsonNode>& list, bool first_listed, const Abnormal& abnormal) {
  if (!list) return true;
  std::size_t index = 0;
  for (const JsonNode leaf : *list) {
    if (abnormal.member(leaf) && !(first_listed && index == 0)) return false;
    ++index;
  }
  return true;
}

bool is_ignored(std::string_view name, const Members& inputs, const Members& outputs, const Abnormal& abnormal) {
  const std::size_t dot = name.find('.');
  const std::string api = lower_case(name.substr(0, dot == std::string_view::npos ? dot : name.find('.', dot + 1)));
  const std::string_view own = std::string_view(api).substr(api.find('.') + 1);
  if (!abnormal.compat() && recordings::is_uninitialised(own)) return all_listed(outputs.list, true, abnormal);
  const auto rule = std::ranges::find(ignored_leaves, api, &Ignored::api);
  if (rule == ignored_leaves.end()) return false;
  if (rule->first_output) return all_listed(outputs.list, true, abnormal);
  if (rule->first_input && !all_listed(inputs.list, true, abnormal)) return false;
  if (!rule->named_input.empty() && inputs.named) {
    for (const JsonNode leaf : *inputs.named) {
      if (leaf.key() != rule->named_input && abnormal.member(leaf)) return false;
    }
  }
  return true;
}

Overflow level_of(const Members& inputs, const Members& outputs, const Abnormal& abnormal) {
  const bool in = inputs.any(abnormal);
  const bool out = outputs.any(abnormal);
  if (!in && out) return Overflow::critical;
  // Infinities may be meant, as those of masks are; a NaN that comes of them is new.
  if (!abnormal.compat() && outputs.any_nan(abnormal) && !inputs.any_nan(abnormal)) return Overflow::critical;
  if (in && out) return Overflow::high;
  if (in) return Overflow::medium;
  const std::optional<double> before = inputs.largest_norm();
  const std::optional<double> after = outputs.largest_norm();
  if (!before || !after) return Overflow::none;
  return (*before == 0 ? *after : *after / *before) > norm_jump ? Overflow::high : Overflow::none;
}

}  // namespace

Overflow overflow_of(std::string_view name, const JsonNode& entry, bool compat) {
  Members inputs{find_member(entry, "input_args"), find_member(entry, "input_kwargs")};
  if (!inputs.list) inputs.list = find_member(entry, "input");
  const Members outputs{find_member(entry, "output"), std::nullopt};
  const Abnormal abnormal(compat);
  const Overflow level = level_of(inputs, outputs, abnormal);
  if (level == Overflow::none || is_ignored(name, inputs, outputs, abnormal)) return Overflow::none;
  return level;
}

std::string_view overflow_text(Overflow level) {
  constexpr std::array<std::string_view, 4> texts{"", "medium", "high", "critical"};
  return texts[static_cast<std::size_t>(level)];
}

}  // namespace msrun::graph
