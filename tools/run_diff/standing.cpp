#include "tools/run_diff/standing.h"

#include <algorithm>

#include "runner/results/counts.h"

namespace msrun::run_diff {
namespace {

State state_by_status(Status status) {
  switch (status) {
    case Status::pass:
      return State::pass;
    case Status::warning:
      return State::warning;
    case Status::error:
      return State::error;
    case Status::skip:
      return State::skip;
  }
  return State::skip;
}

State state_of(const ApiResult& result) {
  if (result.outcome == Outcome::failed_to_run) return State::failed_to_run;
  if (is_suspicious(result)) return State::suspicious;
  if (result.outcome == Outcome::skipped_by_rule) return State::skipped_by_rule;
  const Status status = overall_status(result);
  if (result.outcome == Outcome::not_checkable || status == Status::skip) return State::not_checkable;
  if (is_weak_evidence(result)) return State::proves_little;
  return status == Status::pass ? State::pass : State::rounding;
}

State state_of(const DetailsRow& row) {
  if (is_suspicious(row)) return State::suspicious;
  if (row.status == Status::skip) return State::not_checkable;
  if (row.trust.weak_evidence != WeakEvidence::none) return State::proves_little;
  return row.status == Status::pass ? State::pass : State::rounding;
}

// How much a status speaks against the device.
int badness(const std::string& status) { return status == "error" ? 2 : status == "warning" ? 1 : 0; }

int badness(const Standing& standing) { return std::max(badness(standing.forward), badness(standing.backward)); }

}  // namespace

Standing standing_of(const ApiResult& result, bool by_status) {
  Standing standing;
  standing.forward = status_text(result.forward);
  if (result.backward) standing.backward = status_text(*result.backward);
  standing.state = state_of(result);
  if (by_status && standing.state != State::failed_to_run) standing.state = state_by_status(overall_status(result));
  return standing;
}

Standing standing_of(const DetailsRow& row, bool by_status) {
  Standing standing;
  standing.forward = status_text(row.status);
  standing.state = by_status ? state_by_status(row.status) : state_of(row);
  return standing;
}

bool is_problem(State state) {
  return state == State::suspicious || state == State::failed_to_run || state == State::warning ||
         state == State::error;
}

bool is_checked(State state) {
  return state == State::pass || state == State::proves_little || state == State::rounding ||
         state == State::suspicious || state == State::warning || state == State::error;
}

Change change_between(const Standing& before, const Standing& after) {
  const bool was = is_problem(before.state);
  const bool is = is_problem(after.state);
  if (is) {
    const bool failed_otherwise = (before.state == State::failed_to_run) != (after.state == State::failed_to_run);
    return !was || failed_otherwise || badness(after) > badness(before) ? Change::appeared : Change::still;
  }
  if (was && is_checked(after.state)) return Change::fixed;
  const bool same = before.state == after.state && before.forward == after.forward && before.backward == after.backward;
  return same ? Change::same : Change::status;
}

}  // namespace msrun::run_diff
