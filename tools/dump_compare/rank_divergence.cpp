#include "tools/dump_compare/rank_divergence.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tools/dump_compare/equal_inputs.h"
#include "tools/dump_compare/gap_limits.h"
#include "tools/dump_compare/random_calls.h"
#include "tools/recordings/communication.h"

namespace msrun::dump_compare {
namespace {

using recordings::Direction;
using recordings::Gap;
using recordings::How;
using recordings::State;

// Gradients that are added up are looked for among so many calls, and so many of them.
constexpr std::uint32_t summand_distance = 64;
constexpr std::size_t most_summands = 8;

constexpr auto copies = std::to_array<std::string_view>({"contiguous", "view", "reshape", "to", "clone"});
std::string_view api_name(const Recording& side, const Call& call) { return recordings::api_of(side.name(call), call); }

}  // namespace

RankDivergence::RankDivergence(std::size_t rank, const RankPair& pair, double tolerance)
    : rank_(rank),
      pair_(*pair.pair),
      tolerance_(tolerance),
      checksums_(pair_.mode == Mode::md5),
      alignment_(recordings::align(pair_.target, pair_.golden, checksums_)),
      flow_(pair_.target, checksums_),
      golden_flow_(pair_.golden, checksums_) {
  const auto calls = static_cast<std::uint32_t>(pair_.target.calls.size());
  if (pair_.mode == Mode::tensor) {
    call_of_.resize(pair_.target.leaves.size());
    for (std::uint32_t call = 0; call < calls; ++call) {
      const Call& of = pair_.target.calls[call];
      std::fill(call_of_.begin() + of.leaves, call_of_.begin() + of.leaf_end, call);
    }
  }
  states_.resize(calls);
  limits_.resize(calls);
  half_.resize(calls);
  std::uint32_t backward_calls = 0;
  for (std::uint32_t call = 0; call < calls; ++call) {
    if (pair_.target.calls[call].direction == Direction::backward) ++backward_calls;
    judge(call, backward_calls);
  }
  judge_gradients_by_their_modules();
  find_counterparts(pair.rows);
  note_read_calls();
}

void RankDivergence::judge_gradients_by_their_modules() {
  std::unordered_multimap<recordings::TextId, std::uint32_t> backward;
  const std::vector<Call>& calls = pair_.target.calls;
  for (std::uint32_t call = 0; call < calls.size(); ++call) {
    if (calls[call].direction == Direction::backward && states_[call].judged) backward.emplace(calls[call].base, call);
  }
  for (std::uint32_t call = 0; call < calls.size(); ++call) {
    if (calls[call].direction != Direction::parameters_grad) continue;
    CallState& state = states_[call];
    const auto [first, last] = backward.equal_range(calls[call].base);
    for (auto of = first; of != last; ++of) {
      const CallState& above = states_[of->second];
      state.inputs_agree = state.inputs_agree && above.inputs_agree;
      state.input_gap = std::max(state.input_gap, above.input_gap);
    }
    state.differs = state.differs && state.output_gap > times_input * state.input_gap;
  }
}

RankSummary RankDivergence::summary() const {
  RankSummary result;
  result.inserted = alignment_.count(How::alone);
  result.reordered = alignment_.count(How::reordered);
  result.renamed = alignment_.count(How::renamed);
  result.aligned = alignment_.how.size() - result.inserted;
  result.deleted = alignment_.deleted();
  for (std::uint32_t call = 0; call < alignment_.golden_of.size() && !result.compared; ++call) {
    const std::uint32_t golden = alignment_.golden_of[call];
    if (golden == recordings::no_call) continue;
    result.compared = has_values(pair_.target.calls[call], pair_.golden.calls[golden]);
  }
  for (std::uint32_t call = 0; call < counterparts_.size(); ++call) {
    if (counterparts_[call] == recordings::no_call) continue;
    if (alignment_.how[call] == How::renamed && is_foreign(call)) ++result.differing;
    if (!result.compared) {
      result.compared = has_values(pair_.target.calls[call], pair_.golden.calls[counterparts_[call]]);
    }
  }
  return result;
}

TensorGap RankDivergence::gap_of_files(std::uint32_t mine, std::uint32_t theirs) const {
  const Call& call = pair_.target.calls[call_of_[mine]];
  return gap_of_tensor_files(target_file(pair_.target, call, pair_.target.leaves[mine], pair_.factors),
                             golden_file(pair_.golden, pair_.golden.leaves[theirs], pair_.factors), *pair_.memory);
}

Gap RankDivergence::gap(std::uint32_t mine, std::uint32_t theirs, double unit) const {
  const Leaf& target = pair_.target.leaves[mine];
  const Leaf& golden = pair_.golden.leaves[theirs];
  if (pair_.mode == Mode::tensor && target.data_name != 0 && golden.data_name != 0) {
    const TensorGap files = gap_of_files(mine, theirs);
    if (files.readable) return {files.same_shape, files.gap, 0, files.equal};
  }
  return recordings::gap_of(pair_.target, target, pair_.golden, golden, checksums_, unit);
}

bool RankDivergence::has_values(std::uint32_t mine, std::uint32_t theirs) const {
  const Leaf& target = pair_.target.leaves[mine];
  const Leaf& golden = pair_.golden.leaves[theirs];
  if (pair_.target.task == "structure") return true;
  if (checksums_) return target.recorded_md5 && golden.recorded_md5;
  if (pair_.mode == Mode::tensor && target.data_name != 0 && golden.data_name != 0) {
    if (gap_of_files(mine, theirs).readable) return true;
  }
  const auto has_number = [](const Leaf& leaf) { return std::ranges::any_of(leaf.statistics, &Value::is_number); };
  return has_number(target) && has_number(golden);
}

bool RankDivergence::has_values(const Call& mine, const Call& theirs) const {
  const auto any = [&](const std::vector<std::uint32_t>& one, const std::vector<std::uint32_t>& other) {
    for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
      if (has_values(one[i], other[i])) return true;
    }
    return false;
  };
  return any(inputs_of(pair_.target, mine), inputs_of(pair_.golden, theirs)) ||
         any(outputs_of(pair_.target, mine), outputs_of(pair_.golden, theirs));
}

RankDivergence::Half RankDivergence::half_of(std::uint32_t call) const {
  const auto any_half = [](const Recording& side, const Call& of) {
    for (std::uint32_t i = of.leaves; i < of.leaf_end; ++i) {
      if (side.leaves[i].tensor && recordings::is_half(side, side.leaves[i])) return true;
    }
    return false;
  };
  const Call& mine = pair_.target.calls[call];
  if (any_half(pair_.target, mine)) return Half::own;
  const std::uint32_t golden = alignment_.golden_of[call];
  if (golden != recordings::no_call && any_half(pair_.golden, pair_.golden.calls[golden])) return Half::own;
  // No inputs are recorded of gradients of parameters: whatever came before may have come into them.
  if (mine.direction == Direction::parameters_grad && (pair_.target.has_half || pair_.golden.has_half)) {
    return Half::derived;
  }
  const auto is_noisy = [&](std::uint32_t source) { return source != no_place && half_[source] != Half::none; };
  if (is_noisy(flow_.forward_of(call))) return Half::derived;
  const bool any_noisy = std::ranges::any_of(
      inputs_of(pair_.target, mine), [&](std::uint32_t leaf) { return is_noisy(flow_.producer_of(leaf, call)); });
  return any_noisy ? Half::derived : Half::none;
}

RankDivergence::Limits RankDivergence::limits_of(bool half, bool backward, std::uint32_t backward_calls) const {
  Limits limits = half ? Limits{half_input_limit, half_own_limit, half_output_limit, true}
                       : Limits{input_limit, own_limit, output_limit, false};
  if (half && backward) {
    const double factor = 1 + std::min(backward_calls / backward_calls_a_step, most_steps);
    limits.input *= factor;
    limits.own *= factor;
    limits.output *= times_backward_output;
  }
  limits.input *= tolerance_;
  limits.own *= tolerance_;
  limits.output *= tolerance_;
  return limits;
}

void RankDivergence::judge(std::uint32_t call, std::uint32_t backward_calls) {
  const Direction direction = pair_.target.calls[call].direction;
  const bool backward = direction == Direction::backward || direction == Direction::parameters_grad;
  const std::uint32_t golden = alignment_.golden_of[call];
  half_[call] = half_of(call);
  limits_[call] = limits_of(half_[call] != Half::none, backward, backward_calls);
  if (golden == recordings::no_call) return;
  if (half_[call] == Half::derived && direction != Direction::parameters_grad) {
    // Wide tensors that are all but equal need no room for half precision. Their statistics may agree although the
    // elements do not. A backward call reads what its forward call read and made as well.
    const Limits wide = limits_of(false, backward, backward_calls);
    const double equal = wide_equal_inputs * tolerance_;
    const std::uint32_t forward = flow_.forward_of(call);
    const bool kept = forward == no_place || (!limits_[forward].half && states_[forward].output_gap <= equal);
    const CallState state = state_of(call, golden, wide);
    if (kept && state.inputs_agree && state.input_gap <= equal) limits_[call] = wide;
  }
  states_[call] = state_of(call, golden, limits_[call]);
  states_[call].judged = alignment_.how[call] != How::renamed;
}

CallState RankDivergence::state_of(std::uint32_t call, std::uint32_t golden_call, const Limits& limits) const {
  CallState state;
  compare_inputs(call, golden_call, limits, state);
  compare_outputs(call, golden_call, limits, state);
  return state;
}

void RankDivergence::compare_inputs(std::uint32_t call, std::uint32_t golden_call, const Limits& limits,
                                    CallState& state) const {
  const double unit = limits.half && half_[call] == Half::derived ? recordings::unit_of_bfloat16 : 0;
  const std::vector<std::uint32_t> inputs = inputs_of(pair_.target, pair_.target.calls[call]);
  const std::vector<std::uint32_t> golden_inputs = inputs_of(pair_.golden, pair_.golden.calls[golden_call]);
  state.inputs_agree = true;
  state.equal_inputs = inputs.size() == golden_inputs.size();
  for (std::size_t i = 0; i < std::min(inputs.size(), golden_inputs.size()); ++i) {
    const Gap found = gap(inputs[i], golden_inputs[i], unit);
    if (!found.comparable || found.gap > limits.input || found.own > limits.own) state.inputs_agree = false;
    if (!found.equal) state.equal_inputs = false;
    if (state.input == no_place || found.gap > state.input_gap) {
      state.input_gap = found.gap;
      state.input = inputs[i];
    }
  }
}

void RankDivergence::compare_outputs(std::uint32_t call, std::uint32_t golden_call, const Limits& limits,
                                     CallState& state) const {
  const Call& mine = pair_.target.calls[call];
  const Call& theirs = pair_.golden.calls[golden_call];
  const bool gradient = mine.direction == Direction::backward || mine.direction == Direction::parameters_grad;
  const bool close_inputs = limits.half && !gradient && state.input_gap <= half_equal_inputs * tolerance_;
  const double usual = close_inputs ? half_output_of_equal_inputs * tolerance_ : limits.output;
  const std::vector<std::uint32_t> outputs = outputs_of(pair_.target, mine);
  const std::vector<std::uint32_t> golden_outputs = outputs_of(pair_.golden, theirs);
  for (std::size_t i = 0; i < std::min(outputs.size(), golden_outputs.size()); ++i) {
    const Leaf& output = pair_.target.leaves[outputs[i]];
    if (is_left_out(mine, output)) continue;
    if (state.output == no_place) state.output = outputs[i];
    const Gap found = gap(outputs[i], golden_outputs[i]);
    if (found.equal) continue;
    state.equal_outputs = false;
    const std::optional<double> tight =
        state.equal_inputs ? limit_of_equal_inputs({pair_.target, mine, pair_.golden, theirs}, output) : std::nullopt;
    const double limit = tight ? std::min(usual, *tight * tolerance_) : usual;
    const bool differs = found.gap > limit && found.gap > times_input * state.input_gap;
    // The one with the largest gap is shown, of those that differ if any does.
    const bool worse = differs == state.differs ? found.gap > state.output_gap : differs;
    if (worse) {
      state.output_gap = found.gap;
      state.output = outputs[i];
    }
    state.differs = state.differs || differs;
  }
  state.outputs_agree = state.output_gap <= limits.input && !state.differs;
}

bool RankDivergence::is_left_out(const Call& call, const Leaf& output) const {
  return dump_compare::is_left_out(pair_.target, call, output);
}

bool RankDivergence::is_random(std::uint32_t call) const {
  // The gradient is dropped as its forward call drops, which alone has the arguments.
  const std::uint32_t forward = flow_.forward_of(call);
  return dump_compare::is_random(pair_.target, pair_.target.calls[forward == no_place ? call : forward]);
}

// Gradients that meet are added up by no recorded call. They are outputs that nobody reads, and their means add up.
std::uint32_t RankDivergence::summand_of(std::uint32_t leaf, std::uint32_t before) const {
  const Recording& side = pair_.target;
  const Leaf& sum = side.leaves[leaf];
  const std::int64_t elements = recordings::elements_of(side.text(sum.shape));
  if (elements <= 0 || !sum.statistics[recordings::mean_value].is_number()) return no_place;
  const double root = std::sqrt(static_cast<double>(elements));
  const auto mean_of = [&](const Leaf& of) { return of.statistics[recordings::mean_value].number(); };
  const auto size_of = [&](const Leaf& of) { return of.statistics[recordings::norm_value].number() / root; };
  std::vector<std::pair<std::uint32_t, const Leaf*>> parts;
  const std::uint32_t first = before > summand_distance ? before - summand_distance : 0;
  for (std::uint32_t call = before; call-- > first && parts.size() < most_summands;) {
    if (side.calls[call].direction != Direction::backward) continue;
    for (const std::uint32_t output : recordings::tensors_of(side, side.calls[call], State::output)) {
      const Leaf& part = side.leaves[output];
      if (part.shape != sum.shape || !part.statistics[recordings::mean_value].is_number()) continue;
      if (!flow_.is_read_between(output, call, before + 1)) parts.emplace_back(call, &part);
    }
  }
  const double unit = recordings::rounding_unit(side.text(sum.dtype));
  std::uint32_t found = no_place;
  std::size_t fewest = most_summands + 1;
  for (std::uint32_t chosen = 1; chosen < 1U << parts.size(); ++chosen) {
    const auto count = static_cast<std::size_t>(std::popcount(chosen));
    if (count < 2 || count >= fewest) continue;
    double mean = 0;
    double allowed = size_of(sum);
    std::uint32_t foreign = no_place;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if ((chosen >> i & 1U) == 0) continue;
      mean += mean_of(*parts[i].second);
      allowed += size_of(*parts[i].second);
      if (is_foreign(parts[i].first)) foreign = parts[i].first;
    }
    if (!(std::abs(mean - mean_of(sum)) <= 4 * unit * allowed)) continue;
    fewest = count;
    found = foreign;
  }
  return found;
}

// Without golden outputs of its own, or renamed and with other ones.
bool RankDivergence::is_foreign(std::uint32_t call) const {
  if (alignment_.how[call] == How::alone) return true;
  return alignment_.how[call] == How::renamed && states_[call].output_gap > limits_[call].output;
}

bool RankDivergence::is_copy(std::uint32_t call) const {
  return std::ranges::find(copies, api_name(pair_.target, pair_.target.calls[call])) != copies.end();
}

bool RankDivergence::copies_wrongly(std::uint32_t call, double limit) const {
  const Call& of = pair_.target.calls[call];
  if (!is_copy(call)) return false;
  const std::vector<std::uint32_t> inputs = recordings::tensors_of(pair_.target, of, State::input);
  const std::vector<std::uint32_t> outputs = recordings::tensors_of(pair_.target, of, State::output);
  if (inputs.empty() || outputs.empty()) return false;
  Leaf input = pair_.target.leaves[inputs.front()];
  const Leaf& output = pair_.target.leaves[outputs.front()];
  const auto elements = [&](const Leaf& leaf) { return recordings::elements_of(pair_.target.text(leaf.shape)); };
  if (input.dtype != output.dtype || elements(input) != elements(output)) return false;
  input.shape = output.shape;
  return recordings::gap_of(pair_.target, output, pair_.target, input, checksums_).gap > limit;
}

// The first of the golden calls that were deleted where the region stands.
std::uint32_t RankDivergence::golden_of_region(std::uint32_t call) const {
  if (alignment_.how[call] == How::renamed) return alignment_.golden_of[call];
  std::uint32_t before = call;
  while (before > 0 && alignment_.how[before - 1] != How::in_order) --before;
  std::uint32_t golden = before == 0 ? 0 : alignment_.golden_of[before - 1] + 1;
  return golden < alignment_.target_of.size() && alignment_.target_of[golden] == recordings::no_call ? golden
                                                                                                     : no_place;
}

std::optional<Finding> RankDivergence::region_behind(std::uint32_t producer, std::uint32_t reader, double gap) const {
  const double limit = limits_[reader].output;
  std::unordered_set<std::uint32_t> seen{producer};
  std::vector<std::uint32_t> open{producer};
  std::uint32_t first = producer;
  double input_gap = 0;
  bool copied_wrongly = false;
  bool from_nowhere = false;  // some input is made by no recorded call
  while (!open.empty()) {
    const std::uint32_t call = open.back();
    open.pop_back();
    const bool wrong_copy = copies_wrongly(call, limit);
    if (wrong_copy && (!copied_wrongly || call < first)) first = call;
    copied_wrongly = copied_wrongly || wrong_copy;
    if (!copied_wrongly) first = std::min(first, call);
    for (const std::uint32_t input : inputs_of(pair_.target, pair_.target.calls[call])) {
      const std::uint32_t source = flow_.producer_of(input, call);
      if (source == no_place) {
        from_nowhere = true;
        continue;
      }
      if (is_foreign(source)) {
        if (seen.insert(source).second) open.push_back(source);
        continue;
      }
      if (!states_[source].outputs_agree && !copied_wrongly) {
        if (states_[source].output_gap > limits_[reader].input) return std::nullopt;
      }
      input_gap = std::max(input_gap, states_[source].output_gap);
    }
  }
  // Copies of a gradient that was added up are as right as that.
  const bool backward = pair_.target.calls[reader].direction == Direction::backward;
  const bool only_copies = std::ranges::all_of(seen, [&](std::uint32_t call) { return is_copy(call); });
  if (backward && from_nowhere && only_copies && !copied_wrongly) return std::nullopt;
  Finding finding = finding_of(first, FindingKind::region);
  finding.golden_call = golden_of_region(first);
  name_arguments(finding);
  finding.input_gap = input_gap;
  finding.output_gap = gap;
  return finding;
}

// The producer agrees with its golden counterpart, so the golden call reads something else: what deleted calls made, or
// the output of another call, which the target has as well.
std::optional<Finding> RankDivergence::other_reading(std::uint32_t producer, std::uint32_t reader,
                                                     std::uint32_t golden_input, double gap) const {
  if (alignment_.how[producer] == How::renamed || !states_[producer].outputs_agree) return std::nullopt;
  std::uint32_t source = golden_flow_.producer_of(golden_input, alignment_.golden_of[reader]);
  if (source == no_place || source == alignment_.golden_of[producer]) return std::nullopt;
  const std::uint32_t mine = alignment_.target_of[source];
  const bool deleted = mine == recordings::no_call;
  if (!deleted && (alignment_.how[mine] == How::renamed || !states_[mine].outputs_agree)) return std::nullopt;
  Finding finding = finding_of(reader, deleted ? FindingKind::region : FindingKind::source);
  if (deleted) finding.golden_call = source;
  finding.input_gap = states_[producer].output_gap;
  finding.output_gap = gap;
  return finding;
}

std::optional<Finding> RankDivergence::origin_of(std::uint32_t call) const {
  const Call& mine = pair_.target.calls[call];
  const Call& theirs = pair_.golden.calls[alignment_.golden_of[call]];
  const std::vector<std::uint32_t> inputs = inputs_of(pair_.target, mine);
  const std::vector<std::uint32_t> golden_inputs = inputs_of(pair_.golden, theirs);
  std::optional<Finding> first;
  for (std::size_t i = 0; i < std::min(inputs.size(), golden_inputs.size()); ++i) {
    const Gap found = gap(inputs[i], golden_inputs[i]);
    if (found.comparable && found.gap <= limits_[call].output) continue;
    const bool backward = mine.direction == Direction::backward;
    std::uint32_t producer = flow_.producer_of(inputs[i], call);
    if (producer == no_place && backward) producer = summand_of(inputs[i], call);
    std::optional<Finding> finding;
    if (producer == no_place) {
      if (backward) continue;
      finding = finding_of(call, FindingKind::source);
      finding->input_gap = finding->output_gap = found.gap;
      finding->leaf = pair_.target.row_name(mine, pair_.target.leaves[inputs[i]]);
    } else if (is_foreign(producer)) {
      finding = region_behind(producer, call, found.gap);
    } else if (!backward) {
      finding = other_reading(producer, call, golden_inputs[i], found.gap);
      if (finding) finding->leaf = pair_.target.row_name(mine, pair_.target.leaves[inputs[i]]);
    }
    if (finding && (!first || finding->call < first->call)) first = finding;
  }
  return first;
}

Finding RankDivergence::finding_of(std::uint32_t call, FindingKind kind) const {
  Finding finding;
  finding.rank = rank_;
  finding.kind = kind;
  finding.call = call;
  const Recording& target = pair_.target;
  const Call& mine = target.calls[call];
  const CallState& state = states_[call];
  finding.golden_call = alignment_.golden_of[call];
  finding.input_gap = state.input_gap;
  finding.output_gap = state.output_gap;
  if (state.output != no_place) finding.leaf = target.row_name(mine, target.leaves[state.output]);
  finding.low_confidence =
      pair_.mode == Mode::statistics && limits_[call].half && state.output_gap < low_confidence * limits_[call].output;
  name_arguments(finding);
  return finding;
}

std::vector<Finding> RankDivergence::findings() const {
  std::vector<Finding> found;
  for (std::uint32_t call = 0; call < states_.size(); ++call) {
    const CallState& state = states_[call];
    if (!state.judged) {
      if (std::optional<Finding> unread = unread_finding(call)) found.push_back(std::move(*unread));
      continue;
    }
    if (!state.inputs_agree) {
      if (std::optional<Finding> origin = origin_of(call)) found.push_back(std::move(*origin));
      continue;
    }
    if (recordings::is_communication(pair_.target, pair_.target.calls[call])) continue;
    if (!is_called_otherwise(call) && (!state.differs || is_random(call))) continue;
    found.push_back(finding_of(call, FindingKind::output));
  }
  std::ranges::stable_sort(found, {}, &Finding::call);
  for (std::uint32_t call = 0; !found.empty() && call < found.front().call; ++call) {
    if (moves_otherwise(call)) found.insert(found.begin(), finding_of(call, FindingKind::output));
  }
  return found;
}

std::optional<Finding> RankDivergence::random_finding() const {
  for (std::uint32_t call = 0; call < states_.size(); ++call) {
    const CallState& state = states_[call];
    if (state.judged && state.inputs_agree && state.differs && is_random(call)) {
      return finding_of(call, FindingKind::output);
    }
  }
  return std::nullopt;
}

}  // namespace msrun::dump_compare
