#include "kernels/compare/policies/compare_mindspore.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/compare/choices/freedom.h"
#include "kernels/compare/choices/ties.h"
#include "kernels/compare/metrics/walk_limits.h"
#include "kernels/compare/policies/column_sets.h"
#include "kernels/compare/policies/distance.h"
#include "kernels/tensor/mindspore_dtype.h"

namespace msrun {
namespace {

// Between Python floats of both sides (acc_check_mindspore.md 14).
constexpr double float_tolerance = 1e-6;

constexpr const char* cosine_failed = "cosine similarity is less than threshold: 0.99 ";
constexpr const char* not_comparable =
    "two inputs are not valid for computing cosine similarity, skip comparing "
    "two inputs are not valid for computing max absolute difference, skip comparing ";
constexpr const char* unsupported_type = "[msprobe] Api Accuracy Checker get unsupported type: ";

bool is_none(const Value& value) {
  const Tensor* tensor = value.get<Tensor>();
  return value.is_none() || (tensor != nullptr && !tensor->defined());
}

bool has_gradient(const Value& value) {
  const Tensor* tensor = value.get<Tensor>();
  return tensor != nullptr && tensor->defined() &&
         (is_half(tensor->dtype()) || tensor->dtype() == DType::float32 || tensor->dtype() == DType::float64);
}

// Which slots are compared, in order.
std::vector<std::size_t> kept(const List& slots, bool gradients) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const bool stays = gradients ? has_gradient(slots[i]) || slots[i].is<Unsupported>() : !is_none(slots[i]);
    if (stays) places.push_back(i);
  }
  return places;
}

std::string dtype_text(const Value& value, const char* dtype_class) {
  if (const Tensor* tensor = value.get<Tensor>()) return std::string(mindspore_name(tensor->dtype()));
  if (value.is<bool>()) return "bool";
  if (value.is<std::int64_t>()) return "int";
  if (value.is<double>()) return "float";
  if (value.is<std::string>()) return "str";
  if (value.is<List>()) return "tuple";
  if (value.is<Slice>()) return "slice";
  if (value.is<DType>()) return dtype_class;
  throw SkipError(unsupported_type);
}

bool same(const Value& bench, const Value& tested);

bool same_numbers(double bench, double tested) {
  if (std::isnan(bench) || std::isinf(bench)) return bench == tested || (std::isnan(bench) && std::isnan(tested));
  return std::abs(bench - tested) <= float_tolerance * std::abs(bench);
}

bool same_lists(const List& bench, const List& tested) {
  return std::equal(bench.begin(), bench.end(), tested.begin(), tested.end(), same);
}

// Whether two values that are no tensors are the same.
bool same(const Value& bench, const Value& tested) {
  if (bench.variant().index() != tested.variant().index()) return false;
  if (const auto* b = bench.get<double>()) return same_numbers(*b, *tested.get<double>());
  if (const auto* b = bench.get<List>()) return same_lists(*b, *tested.get<List>());
  if (const auto* b = bench.get<bool>()) return *b == *tested.get<bool>();
  if (const auto* b = bench.get<std::int64_t>()) return *b == *tested.get<std::int64_t>();
  if (const auto* b = bench.get<std::string>()) return *b == *tested.get<std::string>();
  if (const auto* b = bench.get<Slice>()) return *b == *tested.get<Slice>();
  if (const auto* b = bench.get<DType>()) return *b == *tested.get<DType>();
  return bench.is_none();
}

void require_real(const Value& value) {
  const Tensor* tensor = value.get<Tensor>();
  if (tensor != nullptr && (is_complex(tensor->dtype()) || is_float8(tensor->dtype()))) {
    throw SkipError(unsupported_type);
  }
}

void judge(DetailsRow& row, const Distance& distance, const CompareOptions& options) {
  row[Metric::cosine] = Cell::fp64(distance.cosine);
  row[Metric::max_abs_error] = Cell::fp64(distance.max_abs);
  row[Metric::max_relative_error] = Cell::fp64(distance.max_relative);
  std::string text;
  if (!(distance.cosine > least_cosine)) text += cosine_failed;
  if (!(distance.max_abs < options.max_abs_error)) {
    text += "max absolute difference is greater than threshold: ";
    append_python_number(text, options.max_abs_error);
    text += ' ';
  }
  row.status = text.empty() ? Status::pass : Status::error;
  if (distance.nonfinite_equal > 0) {
    text += std::to_string(distance.nonfinite_equal) + " elements are the same NaN or Inf on both sides.";
  }
  if (!text.empty()) row.message = text + "\n";
}

DetailsRow row_of(const Value& bench, const Value& tested, const CompareOptions& options) {
  require_real(bench);
  require_real(tested);
  const Tensor* b = bench.get<Tensor>();
  const Tensor* t = tested.get<Tensor>();
  DetailsRow row(mindspore_columns());
  row.bench_dtype = dtype_text(bench, "torch.dtype");
  row.device_dtype = dtype_text(tested, "mindspore.dtype");
  row.shape = b == nullptr ? "()" : tuple_text(b->shape());
  if (b != nullptr && t != nullptr && b->shape() == t->shape()) {
    if (options.compat_msprobe && b->numel() == 0) {
      throw SkipError("zero-size array to reduction operation maximum which has no identity");
    }
    judge(row, distance_of(*b, *t, !options.compat_msprobe), options);
    return row;
  }
  if (options.compat_msprobe && (bench.is<List>() || tested.is<List>())) throw SkipError(unsupported_type);
  const bool agree = b == nullptr && t == nullptr && !options.compat_msprobe && same(bench, tested);
  if (agree) return row;
  row.status = Status::error;
  row.message = std::string(not_comparable) + "\n";
  return row;
}

// Where both sides have something, for sides of equal length that differ in what is None.
std::vector<std::size_t> in_both(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  std::vector<std::size_t> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

Comparison compare(const MindSporeSlots& slots, bool gradients, const CompareOptions& options) {
  std::vector<std::size_t> of_bench = kept(slots.rounded, gradients);
  std::vector<std::size_t> of_tested = kept(slots.tested, gradients);
  const std::size_t given = of_tested.size();
  const std::size_t expected = of_bench.size();
  // A result that is missing between others must not be taken for the next one.
  if (given != expected && slots.rounded.size() == slots.tested.size() && !options.compat_msprobe) {
    of_bench = of_tested = in_both(of_bench, of_tested);
  }
  Comparison comparison;
  DetailsRow nothing(mindspore_columns());
  nothing.status = Status::skip;
  comparison.rows.assign(slots.rounded.size(), nothing);
  comparison.pairs.resize(slots.rounded.size());
  const std::size_t pairs = std::min(of_bench.size(), of_tested.size());
  const bool notes_gradients = gradients && !options.compat_msprobe;
  bool any_element = false;  // was compared
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::size_t place = of_bench[i];
    const Value& tested = slots.tested[of_tested[i]];
    DetailsRow& row = comparison.rows[place];
    if (const auto* unsupported = tested.get<Unsupported>()) {
      row.message = unsupported->reason;
      if (notes_gradients && is_owed(slots.rounded[place])) note_unchecked_gradient(row);
      continue;
    }
    row = row_of(slots.rounded[place], tested, options);
    const Tensor* bench_tensor = slots.bench[place].get<Tensor>();
    const Tensor* tested_tensor = tested.get<Tensor>();
    if (bench_tensor != nullptr && tested_tensor != nullptr) {
      comparison.pairs[place] = {*bench_tensor, *tested_tensor};
    }
    any_element = any_element || bench_tensor == nullptr || bench_tensor->numel() > 0;
    if (row.status == Status::error) comparison.status = Status::error;
  }
  if (!any_element && comparison.status == Status::pass) comparison.weak_evidence = WeakEvidence::nothing_compared;
  if (notes_gradients) {
    const auto compared = std::span(of_bench).first(pairs);
    for (const std::size_t place : kept(slots.rounded, true)) {
      const bool left_out = std::ranges::find(compared, place) == compared.end();
      if (left_out && is_owed(slots.rounded[place])) note_unchecked_gradient(comparison.rows[place]);
    }
  }
  if (pairs > 0 && given != expected && !options.compat_msprobe) {
    std::string& message = comparison.rows[of_bench.front()].message;
    if (message.empty()) message = "\n";
    message += std::string(uneven_results) + std::to_string(given) + " results, the benchmark " +
               std::to_string(expected) + ": " + std::to_string(pairs) + " are compared.\n";
  }
  return comparison;
}

// Decision 17: of tied elements either index is right.
void accept_ties(const TieRule& ties, const MindSporeSlots& slots, const Value* first_input, Comparison& comparison,
                 const CompareOptions& options) {
  const bool has_values = are_beside_values(ties.indices);
  const std::size_t place = has_values ? 1 : 0;
  if (ties.indices == IndexOutput::none || comparison.rows.size() <= place || slots.tested.size() <= place) return;
  DetailsRow& row = comparison.rows[place];
  if (row.status != Status::error) return;
  TiePair pair;
  if (has_values) {
    pair.bench_values = slots.rounded[0].get<Tensor>();
    pair.device_values = slots.tested[0].get<Tensor>();
  }
  pair.bench_indices = slots.rounded[place].get<Tensor>();
  pair.device_indices = slots.tested[place].get<Tensor>();
  if (first_input != nullptr) pair.input = first_input->get<Tensor>();
  if (pair.bench_indices == nullptr || pair.device_indices == nullptr) return;
  const std::optional<TieResult> judged = judge_ties(ties, pair);
  if (!judged || judged->accepted == 0 || judged->wrong > 0) return;
  judge(row, Distance{}, options);
  row.message = std::to_string(judged->accepted) +
                " indices differ from the benchmark's but select equal values, they count as equal.\n";
  const bool any = std::ranges::any_of(comparison.rows, [](const DetailsRow& r) { return r.status == Status::error; });
  comparison.status = any ? Status::error : Status::pass;
}

}  // namespace

std::string_view uneven_results_line(const DetailsRow& row) {
  const std::string_view message = row.message;
  const std::size_t at = message.find("\n" + std::string(uneven_results));
  if (at == std::string_view::npos) return {};
  const std::string_view line = message.substr(at + 1);
  return line.substr(0, line.find('\n'));
}

List mindspore_slots(const Value& output) {
  const List* list = output.get<List>();
  return list == nullptr ? List{output} : *list;
}

Comparison compare_mindspore_outputs(const OperatorTraits& traits, const MindSporeSlots& slots,
                                     const Value* first_input, const CompareOptions& options) {
  // A result that could not be read is SKIP of the whole direction.
  if (slots.tested.size() == 1 && slots.tested.front().is<Unsupported>()) {
    Comparison comparison = compare(slots, false, options);
    comparison.status = Status::skip;
    return comparison;
  }
  if (options.compat_msprobe) return compare(slots, false, options);
  MindSporeSlots turned = slots;
  const std::optional<Alignment> alignment = Alignment::find(traits.freedom, slots.bench, slots.tested, first_input);
  if (alignment) {
    const Value outputs = alignment->turned(slots.tested);
    turned.tested = *outputs.get<List>();
  }
  Comparison comparison = compare(turned, false, options);
  accept_ties(traits.ties, turned, first_input, comparison, options);
  return comparison;
}

std::optional<Comparison> compare_mindspore_gradients(const MindSporeSlots& slots, const CompareOptions& options) {
  Comparison comparison = compare(slots, true, options);
  const auto counts = [](const DetailsRow& row) { return row.status != Status::skip || !row.message.empty(); };
  if (std::ranges::none_of(comparison.rows, counts)) return std::nullopt;
  return comparison;
}

}  // namespace msrun
