#include "runner/report/standing.h"

#include <string_view>

#include "runner/results/counts.h"

namespace msrun::report {

char letter(Standing standing) { return std::string_view("sufmrpck")[static_cast<std::size_t>(standing)]; }

Standing standing_of(const ApiResult& result) {
  if (is_suspicious_by_values(result)) return Standing::suspicious;
  if (is_suspicious(result)) return Standing::inconsistent;
  if (result.outcome == Outcome::failed_to_run) return Standing::failed_to_run;
  if (overall_status(result) == Status::skip) {
    return result.outcome == Outcome::skipped_by_rule ? Standing::by_rule : Standing::not_checkable;
  }
  if (overall_status(result) != Status::pass) return Standing::rounding;
  return is_weak_evidence(result) ? Standing::weak : Standing::pass;
}

}  // namespace msrun::report
