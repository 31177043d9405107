#include "tools/dump_compare/random_calls.h"

#include <algorithm>
#include <array>

#include "tools/dump_compare/call_operator.h"
#include "tools/recordings/call_rules.h"

namespace msrun::dump_compare {
namespace {

using recordings::Call;
using recordings::Direction;
using recordings::Leaf;
using recordings::Recording;
using recordings::State;
using recordings::Value;

// Of frameworks and modules whose operators the table does not know by these names.
constexpr auto random_words = std::to_array<std::string_view>(
    {"rand", "normal_", "normal", "bernoulli", "multinomial", "uniform_", "exponential_", "randperm"});

// The number that says how much is dropped is an argument of that name in all operators that drop within others.
constexpr std::string_view dropped_share = "dropout_p";
constexpr std::string_view kept_share = "keep_prob";

bool takes(const Operator& op, std::string_view name) {
  return std::ranges::any_of(op.overloads(), [&](const Overload& overload) {
    return std::ranges::any_of(overload.signature.parameters(), [&](const auto& one) { return one.name == name; });
  });
}

// A call of the family of dropouts, which may be told to drop nothing.
bool drops(const Recording& side, const Call& call) {
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    const Leaf& leaf = side.leaves[i];
    if (leaf.tensor || leaf.state != State::input) continue;
    const Value& value = leaf.statistics[recordings::max_value];
    const bool off = value.kind == recordings::Kind::boolean && value.integer == 0;
    if (off && !side.text(leaf.suffix).ends_with("inplace")) return false;
    if (value.is_number() && value.number() == 0) return false;
  }
  return true;
}

}  // namespace

bool is_random(const Recording& side, const Call& call) {
  const std::string_view api = recordings::api_of(side.name(call), call);
  if (std::ranges::any_of(random_words, [&](std::string_view word) {
        return word == "rand" || word == "bernoulli" ? api.starts_with(word) : api == word;
      })) {
    return true;
  }
  const Operator* const op = call.module ? nullptr : operator_of(side, call);
  if (op != nullptr && !op->traits().uncheckable.empty()) return true;
  if (op != nullptr && op->name == "gumbel_softmax") return true;
  const Scalars scalars(side, call, op);
  const bool backward = call.direction == Direction::backward;
  const bool training = scalars.number("training").value_or(1) != 0;
  // Outside of training its slopes are one number.
  if (op != nullptr && op->name == "rrelu") return backward || scalars.number("training").value_or(0) != 0;
  if (api.find("dropout") != std::string_view::npos || (op != nullptr && op->traits().random_zeros)) {
    return drops(side, call);
  }
  if (backward && op != nullptr && (takes(*op, dropped_share) || takes(*op, kept_share))) return true;
  if (!training) return false;
  return scalars.number(dropped_share).value_or(0) > 0 || scalars.number(kept_share).value_or(1) < 1;
}

bool is_left_out(const Recording& side, const Call& call, const Leaf& output) {
  const std::string_view api = recordings::api_of(side.name(call), call);
  if (recordings::is_uninitialised(api)) return true;
  const std::string_view suffix = side.text(output.suffix);
  return api == "npu_fusion_attention" && (suffix == ".output.4" || suffix == ".output.5");
}

}  // namespace msrun::dump_compare
