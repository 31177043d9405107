#include "tools/overflow_check/search.h"

#include <algorithm>
#include <cmath>

#include "tools/recordings/communication.h"
#include "tools/recordings/not_finite.h"
#include "tools/recordings/overflowed_sum.h"
#include "tools/recordings/written_inputs.h"

namespace msrun::overflow_check {
namespace {

using namespace recordings;

bool is_clean(const Recording& side, const Leaf& leaf) {
  for (std::size_t i = 0; i < statistic_count; ++i) {
    if (std::isfinite(number_of(side.texts, leaf.statistics[i]).value_or(0))) continue;
    if (!is_overflowed_sum(side, leaf, static_cast<Statistic>(i))) return false;
  }
  return true;
}

bool all_clean(const Recording& side, const Call& call, bool outputs) {
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    const Leaf& leaf = side.leaves[i];
    const bool output = leaf.state == State::output || leaf.state == State::parameters_grad;
    if (output != outputs || !leaf.tensor || is_clean(side, leaf)) continue;
    if (outputs || !is_only_written(side, call, leaf)) return false;
  }
  return true;
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
      if (may_hold_anything(side.name(call))) continue;
      if (!all_clean(side, call, false)) {
        seen.push_back({r, c, true, {}});
        continue;
      }
      if (all_clean(side, call, true)) continue;
      // What another participant has put into a communication is not its own.
      const bool inherited =
          std::ranges::any_of(order.participants({static_cast<std::uint32_t>(r), c}), [&](const CallPlace& place) {
            const Recording& other = *ranks[place.rank].second;
            return !all_clean(other, other.calls[place.call], false);
          });
      if (!inherited) found.push_back({r, c, false, order.absent({static_cast<std::uint32_t>(r), c})});
    }
  }
  return minimal(found.empty() ? std::move(seen) : std::move(found), order);
}

}  // namespace msrun::overflow_check
