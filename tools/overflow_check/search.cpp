#include "tools/overflow_check/search.h"

#include <algorithm>
#include <cmath>

#include "tools/recordings/call_rules.h"
#include "tools/recordings/communication.h"
#include "tools/recordings/not_finite.h"
#include "tools/recordings/overflowed_sum.h"
#include "tools/recordings/written_inputs.h"

namespace msrun::overflow_check {
namespace {

using namespace recordings;

// What is not finite among tensors: which of them, and whether an element is NaN.
struct Found {
  bool infinity = false;
  bool minus_infinity = false;
  bool nan = false;
  bool other = false;  // in a sum alone, so that nothing is known of the elements

  bool any() const { return infinity || minus_infinity || nan || other; }
  void add(double number) {
    const NotFinite kind = not_finite_kind(number);
    infinity = infinity || kind == NotFinite::infinity;
    minus_infinity = minus_infinity || kind == NotFinite::minus_infinity;
    nan = nan || kind == NotFinite::nan;
  }
  // Nothing but infinities that others has as well.
  bool are_in(const Found& others) const {
    return !nan && !other && (!infinity || others.infinity) && (!minus_infinity || others.minus_infinity);
  }
};

void look_at(const Recording& side, const Leaf& leaf, Found& found) {
  Found of_leaf;
  for (const Statistic statistic : {max_value, min_value}) {
    of_leaf.add(number_of(side.texts, leaf.statistics[statistic]).value_or(0));
  }
  // Sums over infinities are not finite either.
  for (const Statistic statistic : {mean_value, norm_value}) {
    if (of_leaf.any() || std::isfinite(number_of(side.texts, leaf.statistics[statistic]).value_or(0))) continue;
    if (!is_overflowed_sum(side, leaf, statistic)) of_leaf.other = true;
  }
  found.infinity = found.infinity || of_leaf.infinity;
  found.minus_infinity = found.minus_infinity || of_leaf.minus_infinity;
  found.nan = found.nan || of_leaf.nan;
  found.other = found.other || of_leaf.other;
}

Found found_in(const Recording& side, const Call& call, bool outputs) {
  Found found;
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    const Leaf& leaf = side.leaves[i];
    const bool output = leaf.state == State::output || leaf.state == State::parameters_grad;
    if (output != outputs || !leaf.tensor) continue;
    if (outputs || !is_only_written(side, call, leaf)) look_at(side, leaf, found);
  }
  return found;
}

// Infinities among the arguments that are no tensors: those of a mask, which are meant.
Found given(const Recording& side, const Call& call) {
  Found found;
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    const Leaf& leaf = side.leaves[i];
    if (leaf.state == State::input && !leaf.tensor) look_at(side, leaf, found);
  }
  return found;
}

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

}  // namespace

std::vector<Anomaly> find_anomalies(const std::vector<std::pair<std::uint64_t, const Recording*>>& ranks) {
  std::vector<RankOrder::Rank> numbers;
  for (const auto& [number, recording] : ranks) numbers.push_back({number, recording});
  const RankOrder order(numbers);
  std::vector<Anomaly> found;
  std::vector<Anomaly> seen;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Recording& side = *ranks[r].second;
    for (std::uint32_t c = 0; c < side.calls.size(); ++c) {
      const Call& call = side.calls[c];
      const std::string_view name = side.name(call);
      if (may_hold_anything(name) || is_uninitialised(api_of(name, call))) continue;
      const Found inputs = found_in(side, call, false);
      const Found outputs = found_in(side, call, true);
      const bool new_nan = outputs.nan && !inputs.nan && !inputs.other;
      if (inputs.any() && !new_nan) {
        seen.push_back({r, c, true, {}});
        continue;
      }
      if (!outputs.any()) continue;
      if (!inputs.any() && outputs.are_in(given(side, call))) {
        seen.push_back({r, c, false, {}});
        continue;
      }
      // What another participant has put into a communication is not its own.
      const bool inherited =
          std::ranges::any_of(order.participants({static_cast<std::uint32_t>(r), c}), [&](const CallPlace& place) {
            const Recording& other = *ranks[place.rank].second;
            return found_in(other, other.calls[place.call], false).any();
          });
      if (!inherited || inputs.any()) found.push_back({r, c, false, order.absent({static_cast<std::uint32_t>(r), c})});
    }
  }
  return minimal(found.empty() ? std::move(seen) : std::move(found), order);
}

}  // namespace msrun::overflow_check
