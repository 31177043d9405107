#include "tools/dump_compare/divergence.h"

#include <algorithm>

#include "tools/dump_compare/rank_divergence.h"
#include "tools/recordings/communication.h"

namespace msrun::dump_compare {
namespace {

using recordings::CallPlace;
using recordings::RankOrder;
using Ranks = std::vector<std::unique_ptr<RankDivergence>>;

CallPlace place_of(const Finding& finding) { return {static_cast<std::uint32_t>(finding.rank), finding.call}; }

// Communications whose participants all have agreeing inputs and of which one has another output.
void add_communications(const std::vector<RankPair>& pairs, const Ranks& ranks, const RankOrder& order,
                        std::vector<Finding>& findings) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Recording& target = pairs[r].pair->target;
    for (std::uint32_t call = 0; call < target.calls.size(); ++call) {
      const CallState& state = ranks[r]->states()[call];
      if (!state.judged || !state.differs || !state.inputs_agree) continue;
      if (!recordings::is_communication(target, target.calls[call])) continue;
      const std::vector<CallPlace> all = order.participants({static_cast<std::uint32_t>(r), call});
      const bool agree = std::ranges::all_of(all, [&](const CallPlace& place) {
        const CallState& other = ranks[place.rank]->states()[place.call];
        return other.judged && other.inputs_agree;
      });
      if (agree) findings.push_back(ranks[r]->finding_of(call, FindingKind::communication));
    }
  }
}

// Findings without another before them, the earliest first.
std::vector<Finding> minimal(std::vector<Finding> findings, const RankOrder& order) {
  std::ranges::stable_sort(
      findings, [&](const Finding& a, const Finding& b) { return order.is_earlier(place_of(a), place_of(b)); });
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const bool explained = std::ranges::any_of(kept, [&](const Finding& earlier) {
      return (earlier.rank == finding.rank && earlier.call == finding.call) ||
             order.happens_before(place_of(earlier), place_of(finding));
    });
    if (!explained) kept.push_back(std::move(finding));
  }
  return kept;
}

}  // namespace

const char* kind_text(FindingKind kind) {
  switch (kind) {
    case FindingKind::output:
      return "output";
    case FindingKind::region:
      return "region";
    case FindingKind::communication:
      return "communication";
    case FindingKind::source:
      return "source";
  }
  return "";
}

const char* verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::found:
      return "found";
    case Verdict::none:
      return "none";
    case Verdict::not_comparable:
      return "not_comparable";
    case Verdict::random:
      return "random";
    case Verdict::nothing_compared:
      return "nothing_compared";
  }
  return "";
}

Divergence find_divergence(const std::vector<RankPair>& pairs, double tolerance) {
  Divergence result;
  Ranks ranks;
  std::vector<RankOrder::Rank> numbers;
  bool comparable = true;
  for (const RankPair& pair : pairs) {
    ranks.push_back(std::make_unique<RankDivergence>(ranks.size(), pair, tolerance));
    numbers.push_back({pair.rank, &pair.pair->target});
    result.ranks.push_back(ranks.back()->summary());
    comparable = comparable && ranks.back()->comparable();
  }
  if (std::ranges::none_of(result.ranks, &RankSummary::compared)) {
    result.verdict = Verdict::nothing_compared;
    return result;
  }
  if (!comparable) {
    result.verdict = Verdict::not_comparable;
    return result;
  }
  const RankOrder order(numbers);
  std::vector<Finding> findings;
  for (const auto& rank : ranks) {
    for (Finding& finding : rank->findings()) findings.push_back(std::move(finding));
  }
  add_communications(pairs, ranks, order, findings);
  result.findings = minimal(std::move(findings), order);
  if (!result.findings.empty()) {
    result.verdict = Verdict::found;
    return result;
  }
  for (const auto& rank : ranks) {
    if (std::optional<Finding> random = rank->random_finding()) {
      result.verdict = Verdict::random;
      result.findings.push_back(std::move(*random));
      return result;
    }
  }
  for (const auto& rank : ranks) {
    for (std::string& text : rank->other_arguments()) result.other_arguments.push_back(std::move(text));
  }
  return result;
}

}  // namespace msrun::dump_compare
