// Calls that the alignment knows no counterpart of and whose results no judged call depends on: nothing else would tell
// that they are wrong.
#include <algorithm>

#include "tools/dump_compare/rank_divergence.h"
#include "tools/recordings/communication.h"

namespace msrun::dump_compare {

using recordings::Gap;
using recordings::How;

namespace {

// Calls that may stand in the place of one.
constexpr std::size_t most_calls_in_place = 64;

bool is_paired(How how) { return how == How::in_order || how == How::reordered; }

}  // namespace

void RankDivergence::find_counterparts(const std::vector<Row>& rows) {
  counterparts_.assign(states_.size(), recordings::no_call);
  for (std::uint32_t call = 0; call < states_.size(); ++call) {
    if (alignment_.how[call] == How::renamed) counterparts_[call] = alignment_.golden_of[call];
  }
  for (const Row& row : rows) {
    if (row.target_call == no_place || row.golden_call == no_place) continue;
    const How how = alignment_.how[row.target_call];
    const std::uint32_t taken = alignment_.target_of[row.golden_call];
    if (is_paired(how) || (taken != recordings::no_call && is_paired(alignment_.how[taken]))) continue;
    if (pair_.target.leaves[row.target].state != pair_.golden.leaves[row.golden].state) continue;
    // Equal names alone say less than an equal place does, other than names that the user paired.
    const bool by_name = pair_.target.name(pair_.target.calls[row.target_call]) ==
                         pair_.golden.name(pair_.golden.calls[row.golden_call]);
    if (how == How::alone || !by_name) counterparts_[row.target_call] = row.golden_call;
  }
}

void RankDivergence::note_read_calls() {
  read_.assign(states_.size(), false);
  std::vector<std::uint32_t> open;
  const auto open_producers = [&](std::uint32_t call) {
    for (const std::uint32_t input : inputs_of(pair_.target, pair_.target.calls[call])) {
      const std::uint32_t source = flow_.producer_of(input, call);
      if (source == no_place || is_paired(alignment_.how[source]) || read_[source]) continue;
      read_[source] = true;
      open.push_back(source);
    }
  };
  for (std::uint32_t call = 0; call < states_.size(); ++call) {
    if (states_[call].judged) open_producers(call);
  }
  while (!open.empty()) {
    const std::uint32_t call = open.back();
    open.pop_back();
    open_producers(call);
  }
}

bool RankDivergence::has_agreeing_counterpart(std::uint32_t call) const {
  return counterparts_[call] != recordings::no_call && state_of(call, counterparts_[call], limits_[call]).inputs_agree;
}

bool RankDivergence::comparable() const {
  const std::size_t smaller = std::min(alignment_.golden_of.size(), alignment_.target_of.size());
  std::size_t same = summary().aligned;
  for (std::uint32_t call = 0; call < counterparts_.size(); ++call) {
    if (alignment_.how[call] == How::alone && has_agreeing_counterpart(call)) ++same;
  }
  return 2 * same >= smaller && smaller > 0;
}

std::optional<Finding> RankDivergence::unread_finding(std::uint32_t call) const {
  const std::uint32_t golden = counterparts_[call];
  if (golden == recordings::no_call || read_[call] || is_random(call)) return std::nullopt;
  const Call& mine = pair_.target.calls[call];
  if (recordings::is_communication(pair_.target, mine)) return std::nullopt;
  const Call& theirs = pair_.golden.calls[golden];
  const CallState state = state_of(call, golden, limits_[call]);
  const std::size_t outputs = outputs_of(pair_.target, mine).size();
  const std::size_t golden_outputs = outputs_of(pair_.golden, theirs).size();
  if (!state.inputs_agree || (!state.differs && outputs == golden_outputs)) return std::nullopt;
  if (state.differs && is_made_elsewhere(call, golden)) return std::nullopt;
  Finding finding = finding_of(call, FindingKind::region);
  finding.golden_call = golden;
  name_arguments(finding);
  finding.input_gap = state.input_gap;
  finding.output_gap = state.output_gap;
  finding.leaf = state.output == no_place ? "" : pair_.target.row_name(mine, pair_.target.leaves[state.output]);
  if (outputs != golden_outputs) {
    finding.scalar_differences.push_back("number of outputs: " + std::to_string(outputs) + ", " +
                                         std::to_string(golden_outputs));
  }
  return finding;
}

bool RankDivergence::is_made_elsewhere(std::uint32_t call, std::uint32_t golden) const {
  const std::vector<std::uint32_t> wanted = outputs_of(pair_.golden, pair_.golden.calls[golden]);
  return !wanted.empty() && std::ranges::all_of(wanted, [&](std::uint32_t output) {
    const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(states_.size(), call + most_calls_in_place));
    for (std::uint32_t other = call; other < end && !is_paired(alignment_.how[other]); ++other) {
      for (const std::uint32_t made : outputs_of(pair_.target, pair_.target.calls[other])) {
        const Gap found = gap(made, output);
        if (found.comparable && found.gap <= limits_[call].input) return true;
      }
    }
    return false;
  });
}

}  // namespace msrun::dump_compare
