#include "tools/overflow_check/search.h"

#include <algorithm>

#include "tools/overflow_check/evidence.h"
#include "tools/recordings/call_rules.h"
#include "tools/recordings/communication.h"
#include "tools/recordings/written_inputs.h"

namespace msrun::overflow_check {
namespace {

using namespace recordings;

CallPlace place_of(const Anomaly& anomaly) { return {static_cast<std::uint32_t>(anomaly.rank), anomaly.call}; }

std::vector<Anomaly> minimal(std::vector<Anomaly> all, const RankOrder& order) {
  std::ranges::stable_sort(
      all, [&](const Anomaly& a, const Anomaly& b) { return order.is_earlier(place_of(a), place_of(b)); });
  std::vector<Anomaly> kept;
  for (const Anomaly& anomaly : all) {
    const bool explained = std::ranges::any_of(
        kept, [&](const Anomaly& earlier) { return order.happens_before(place_of(earlier), place_of(anomaly)); });
    if (!explained) kept.push_back(anomaly);
  }
  return kept;
}

// Calls in the order in which they ran. Some recordings list the gradients of parameters with the forward of their
// module, before any backward: those come behind the last backward.
std::vector<std::uint32_t> in_order(const Recording& side) {
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> early;
  bool has_backward = false;
  std::size_t behind_backward = 0;
  for (std::uint32_t c = 0; c < side.calls.size(); ++c) {
    const Direction direction = side.calls[c].direction;
    const bool is_gradient = direction == Direction::parameters_grad;
    (is_gradient && !has_backward ? early : order).push_back(c);
    if (direction != Direction::backward && !(is_gradient && has_backward)) continue;
    has_backward = true;
    behind_backward = order.size();
  }
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(has_backward ? behind_backward : order.size()),
               early.begin(), early.end());
  return order;
}

class Search {
 public:
  explicit Search(const std::vector<std::pair<std::uint64_t, const Recording*>>& ranks)
      : ranks_(ranks), order_(numbered(ranks)) {
    for (const auto& [number, recording] : ranks) evidence_.emplace_back(*recording);
  }

  std::vector<Anomaly> run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) search(rank);
    return minimal(found_.empty() ? std::move(seen_) : std::move(found_), order_);
  }

 private:
  static std::vector<RankOrder::Rank> numbered(const std::vector<std::pair<std::uint64_t, const Recording*>>& ranks) {
    std::vector<RankOrder::Rank> numbers;
    for (const auto& [number, recording] : ranks) numbers.push_back({number, recording});
    return numbers;
  }

  // Up to the first call that is to blame, which explains all later ones of its rank.
  void search(std::size_t rank) {
    const Recording& side = *ranks_[rank].second;
    handed_on_ = {};
    bool has_seen = false;
    for (const std::uint32_t call : in_order(side)) {
      const std::string_view name = side.name(side.calls[call]);
      const Found outputs = evidence_[rank].outputs(call);
      if (!may_hold_anything(name) && !is_uninitialised(api_of(name, side.calls[call]))) {
        if (is_to_blame(rank, call, outputs, has_seen)) return;
      }
      handed_on_.add(outputs);
    }
  }

  // Notes the call. has_seen: whether one is in seen_ of those that are named only if no other one is.
  bool is_to_blame(std::size_t rank, std::uint32_t call, const Found& outputs, bool& has_seen) {
    const Evidence& evidence = evidence_[rank];
    const Found inputs = outputs.any() ? evidence.inputs(call) : evidence.arguments(call);
    const auto see = [&](Source source) {
      if (!has_seen) seen_.push_back({rank, call, source, {}, {}, {}});
      has_seen = true;
      return false;
    };
    const auto blame = [&](Source source) {
      const CallPlace place{static_cast<std::uint32_t>(rank), call};
      auto absent = source == Source::none ? order_.absent(place) : std::vector<std::uint64_t>();
      found_.push_back({rank, call, source, std::move(absent), {}, {}});
      return true;
    };
    if (!inputs.any()) {
      if (!outputs.any() || is_inherited(rank, call)) return false;
      return outputs.are_in(evidence.scalars(call)) ? see(Source::none) : blame(Source::none);
    }
    if (outputs.any() && is_from_outside(evidence, call, inputs, outputs)) return blame(Source::input);
    const bool makes_nan = outputs.nan && !inputs.unknown_or_nan();
    return makes_nan ? blame(Source::none) : see(Source::input);
  }

  // Whether no call before has handed on what this one has read. The negative infinities of a mask may be made once and
  // for all before the recording begins, so that they count only where no mask gives such results.
  bool is_from_outside(const Evidence& evidence, std::uint32_t call, const Found& inputs, const Found& outputs) const {
    if (evidence.parameters(call).any()) return true;
    if (handed_on_.unknown_or_nan()) return false;
    if (inputs.unknown_or_nan()) return true;
    if (inputs.infinity) return !handed_on_.infinity;
    return !handed_on_.minus_infinity && (outputs.nan || outputs.infinity) && evidence.has_trained_minus_infinity(call);
  }

  // What another participant has put into a communication is not its own.
  bool is_inherited(std::size_t rank, std::uint32_t call) const {
    return std::ranges::any_of(
        order_.participants({static_cast<std::uint32_t>(rank), call}), [&](const CallPlace& place) {
          return (place.rank != rank || place.call != call) && evidence_[place.rank].inputs(place.call).any();
        });
  }

  const std::vector<std::pair<std::uint64_t, const Recording*>>& ranks_;
  RankOrder order_;
  std::vector<Evidence> evidence_;
  Found handed_on_;  // by the calls of the rank so far
  std::vector<Anomaly> found_;
  std::vector<Anomaly> seen_;
};

}  // namespace

std::vector<Anomaly> find_anomalies(const std::vector<std::pair<std::uint64_t, const Recording*>>& ranks) {
  return Search(ranks).run();
}

}  // namespace msrun::overflow_check
