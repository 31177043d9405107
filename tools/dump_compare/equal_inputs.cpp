#include "tools/dump_compare/equal_inputs.h"

#include <algorithm>

#include "tools/dump_compare/call_operator.h"
#include "tools/dump_compare/gap_limits.h"
#include "tools/recordings/alignment.h"
#include "tools/recordings/gap.h"

namespace msrun::dump_compare {
namespace {

using recordings::Call;
using recordings::Direction;
using recordings::Recording;
using recordings::State;

// Rounding of the coarsest type that takes part.
double unit_of(const Recording& side, const Call& call) {
  double unit = 0;
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    if (!side.leaves[i].tensor) continue;
    unit = std::max(unit, recordings::rounding_unit(side.text(side.leaves[i].dtype)));
  }
  return unit;
}

// Whether sound devices may give other results by other things than rounding.
bool has_choices(const OperatorTraits& traits) {
  return traits.ties.indices != IndexOutput::none || traits.freedom != Freedom::none || traits.steps != nullptr ||
         traits.overwrites || traits.outputs_vary() || !traits.uncheckable.empty();
}

// Whether the recording holds all tensors that the operator reads: of a module it lacks buffers, and parameters too if
// the recorder left them out.
bool has_all_inputs(const Recording& side, const Call& call, const Operator& op) {
  if (!call.module) return true;
  if (op.overloads().empty()) return false;
  const auto wanted = std::ranges::count_if(op.overloads().front().signature.parameters(),
                                            [](const Parameter& one) { return one.kind == Parameter::Kind::tensor; });
  const std::size_t recorded = recordings::tensors_of(side, call, State::input).size() +
                               recordings::tensors_of(side, call, State::parameters).size();
  return recorded >= static_cast<std::size_t>(wanted);
}

}  // namespace

bool gives_one_result(std::string_view type, std::string_view api) {
  const Operator* const op = find_operator(type, api);
  return op != nullptr && !has_choices(op->traits());
}

std::optional<double> limit_of_equal_inputs(const CallPair& calls, const recordings::Leaf& output) {
  // What a backward call reads of its forward call is not among its inputs, and gradients cancel.
  if (calls.mine.direction != Direction::forward) return std::nullopt;
  const Operator* const op = operator_of(calls.target, calls.mine);
  if (op == nullptr || op != operator_of(calls.golden, calls.theirs) || has_choices(op->traits())) return std::nullopt;
  if (!has_all_inputs(calls.target, calls.mine, *op)) return std::nullopt;
  if (recordings::is_whole(calls.target, output)) return 0;
  const double unit = std::max(unit_of(calls.target, calls.mine), unit_of(calls.golden, calls.theirs));
  if (unit > single_unit) return half_units_of_equal_inputs * unit;
  // Behind half types statistics may be equal although the elements are not.
  const bool behind_half = calls.target.has_half || calls.golden.has_half;
  if (behind_half || op->traits().multiply_adds != nullptr) return std::nullopt;
  return units_of_equal_inputs * unit;
}

}  // namespace msrun::dump_compare
