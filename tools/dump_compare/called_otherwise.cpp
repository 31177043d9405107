// Calls that belong together and have other arguments: what they give says nothing of the devices.
#include <algorithm>
#include <utility>

#include "tools/dump_compare/call_operator.h"
#include "tools/dump_compare/gap_limits.h"
#include "tools/dump_compare/rank_divergence.h"
#include "tools/recordings/communication.h"

namespace msrun::dump_compare {

std::vector<ArgumentDifference> RankDivergence::arguments_of(std::uint32_t call, std::uint32_t golden) const {
  std::vector<ArgumentDifference> found = argument_differences(pair_.target, pair_.target.calls[call], pair_.golden,
                                                               pair_.golden.calls[golden], limits_[call].input);
  // Frameworks pass the same arguments in other places and forms.
  if (pair_.cross) {
    for (ArgumentDifference& difference : found) difference.counts = false;
  }
  return found;
}

void RankDivergence::name_arguments(Finding& finding) const {
  if (finding.golden_call == no_place || !finding.scalar_differences.empty()) return;
  const Call& mine = pair_.target.calls[finding.call];
  const Call& theirs = pair_.golden.calls[finding.golden_call];
  if (recordings::canonical_name(pair_.target, mine) != recordings::canonical_name(pair_.golden, theirs)) return;
  for (ArgumentDifference& difference : arguments_of(finding.call, finding.golden_call)) {
    finding.scalar_differences.push_back(std::move(difference.text));
  }
}

bool RankDivergence::has_other_arguments(std::uint32_t call) const {
  return std::ranges::any_of(arguments_of(call, alignment_.golden_of[call]), &ArgumentDifference::counts);
}

bool RankDivergence::moves_otherwise(std::uint32_t call) const {
  const CallState& state = states_[call];
  if (pair_.mode != Mode::statistics || !state.judged || !state.inputs_agree || !state.outputs_agree) return false;
  const Operator* const op = operator_of(pair_.target, pair_.target.calls[call]);
  return op != nullptr && op->traits().copies_only && has_other_arguments(call);
}

bool RankDivergence::is_called_otherwise(std::uint32_t call) const {
  const CallState& state = states_[call];
  if (!state.judged || !state.inputs_agree || state.equal_outputs) return false;
  if (!has_other_arguments(call)) return false;
  // From equal inputs nothing else can have made them; otherwise what the inputs bring must be told from it.
  return state.equal_inputs || state.output_gap > times_input * std::max(state.input_gap, single_unit);
}

std::vector<std::string> RankDivergence::other_arguments() const {
  std::vector<std::string> found;
  for (std::uint32_t call = 0; call < states_.size(); ++call) {
    const Call& of = pair_.target.calls[call];
    if (!states_[call].judged || recordings::is_communication(pair_.target, of)) continue;
    for (const ArgumentDifference& difference : arguments_of(call, alignment_.golden_of[call])) {
      if (difference.counts) found.push_back(std::string(pair_.target.name(of)) + ", " + difference.text);
    }
  }
  return found;
}

}  // namespace msrun::dump_compare
