#include "runner/results/counts.h"

#include <array>
#include <cstdio>

namespace msrun {

Status overall_status(const ApiResult& result) {
  // A call without a forward is SKIP by its backward.
  if (result.forward == Status::skip || result.outcome == Outcome::not_checkable) return Status::skip;
  if (result.forward == Status::error || result.backward == Status::error) return Status::error;
  if (result.outcome == Outcome::failed_to_run) return Status::skip;
  if (result.forward == Status::warning || result.backward == Status::warning) return Status::warning;
  return Status::pass;
}

namespace {

// The forward is SKIP, and the backward is not: each direction is checked by itself.
bool has_backward_alone(const ApiResult& result) {
  return result.forward == Status::skip && result.backward && *result.backward != Status::skip;
}

}  // namespace

bool is_suspicious_by_values(const ApiResult& result) {
  const Status status = has_backward_alone(result) ? *result.backward : overall_status(result);
  if (status == Status::skip) return false;
  return status == Status::pass ? result.beyond_rounding : !result.rounding_only;
}

bool is_unsteady(const ApiResult& result) {
  return result.repeats && result.repeats->different > 0 && !result.repeats->may_vary;
}

bool differs_between_devices(const ApiResult& result) {
  using Verdict = Agreement::Verdict;
  return result.agreement &&
         (result.agreement->verdict == Verdict::undecided || result.agreement->verdict == Verdict::blamed);
}

bool varies_as_declared(const ApiResult& result) {
  return (result.repeats && result.repeats->different > 0 && result.repeats->may_vary) ||
         (result.agreement && result.agreement->verdict == Agreement::Verdict::may_vary);
}

bool is_suspicious(const ApiResult& result) {
  if (is_suspicious_by_values(result)) return true;
  return overall_status(result) != Status::skip && (is_unsteady(result) || differs_between_devices(result));
}

bool is_weak_evidence(const ApiResult& result) {
  return result.weak_evidence != WeakEvidence::none && overall_status(result) != Status::skip && !is_suspicious(result);
}

void VerdictCounts::add(const ApiResult& result) {
  const Status status = overall_status(result);
  if (result.tested_on == TestedOn::simulated) ++simulated;
  if (result.tested_on == TestedOn::recorded || result.tested_on == TestedOn::hardware) ++not_simulated;
  if (result.outcome == Outcome::failed_to_run) ++failed_to_run;
  if (result.rounding_only && status != Status::skip) ++rounding_only;
  if (result.beyond_rounding && status == Status::pass) ++beyond_rounding;
  if (is_weak_evidence(result)) ++weak;
  const bool only_forward = !result.backward || result.backward == Status::skip;
  if (status == Status::pass && result.weak_evidence == WeakEvidence::nothing_compared && only_forward)
    ++nothing_compared;
  if (has_backward_alone(result)) {
    ++backward_alone;
    if (is_suspicious_by_values(result)) ++suspicious_skips;
  }
  if (has_unchecked_backward(result) && !is_backward_left_out(result)) ++backward_unchecked;
  if (is_unsteady(result)) ++unsteady;
  if (differs_between_devices(result)) ++devices_differ;
  if (varies_as_declared(result)) ++varying;
  if (is_suspicious(result) && !is_suspicious_by_values(result)) ++only_inconsistent;
  switch (status) {
    case Status::pass:
      ++pass;
      return;
    case Status::warning:
      ++warning;
      return;
    case Status::skip:
      ++skip;
      if (result.outcome == Outcome::skipped_by_rule) ++skipped_by_rule;
      if (result.outcome == Outcome::not_checkable) ++not_checkable;
      return;
    case Status::error:
      break;
  }
  ++error;
  if (result.forward != Status::error) {
    ++backward_error;
  } else if (result.backward == Status::error) {
    ++both_error;
  } else {
    ++forward_error;
  }
}

std::string VerdictCounts::passing_rate() const {
  const std::uint64_t begun = total() + skip - skipped_by_rule - not_checkable;
  if (begun == 0) return "0%";
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.2f%%", 100.0 * static_cast<double>(pass) / static_cast<double>(begun));
  return buffer.data();
}

}  // namespace msrun
