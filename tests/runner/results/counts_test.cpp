#include "runner/results/counts.h"

#include <gtest/gtest.h>

namespace msrun {
namespace {

ApiResult of_status(Status forward, std::optional<Status> backward) {
  ApiResult result;
  result.forward = forward;
  result.backward = backward;
  return result;
}

VerdictCounts counts_of(Status forward, std::optional<Status> backward) {
  VerdictCounts counts;
  counts.add(of_status(forward, backward));
  return counts;
}

constexpr auto pass = Status::pass;
constexpr auto warning = Status::warning;
constexpr auto error = Status::error;
constexpr auto skip = Status::skip;

TEST(VerdictCountsTest, EveryCallIsInOnePlace) {
  for (const std::optional<Status> backward : {std::optional(pass), std::optional(warning), std::optional(error),
                                               std::optional(skip), std::optional<Status>()}) {
    for (const Status forward : {pass, warning, error, skip}) {
      const VerdictCounts counts = counts_of(forward, backward);
      EXPECT_EQ(counts.pass + counts.warning + counts.error + counts.skip, 1U);
      EXPECT_EQ(counts.forward_error + counts.backward_error + counts.both_error, counts.error);
    }
    EXPECT_EQ(counts_of(skip, backward).skip, 1U);
    EXPECT_EQ(counts_of(skip, backward).total(), 0U);
  }
}

TEST(VerdictCountsTest, RulesOfThePreCheck) {
  EXPECT_EQ(counts_of(pass, pass).pass, 1U);
  EXPECT_EQ(counts_of(pass, skip).pass, 1U);
  EXPECT_EQ(counts_of(pass, std::nullopt).pass, 1U);
  EXPECT_EQ(counts_of(error, error).both_error, 1U);
  EXPECT_EQ(counts_of(error, pass).forward_error, 1U);
  EXPECT_EQ(counts_of(error, warning).forward_error, 1U);
  EXPECT_EQ(counts_of(error, std::nullopt).forward_error, 1U);
  EXPECT_EQ(counts_of(pass, error).backward_error, 1U);
  EXPECT_EQ(counts_of(warning, error).backward_error, 1U);
  EXPECT_EQ(counts_of(warning, pass).warning, 1U);
  EXPECT_EQ(counts_of(pass, warning).warning, 1U);
  EXPECT_EQ(counts_of(warning, skip).warning, 1U);
}

// The files know such a call as SKIP; its gradients are checked all the same.
TEST(VerdictCountsTest, AWrongBackwardIsSuspiciousBesideAForwardThatCannotBeChecked) {
  EXPECT_EQ(counts_of(skip, error).suspicious(), 1U);
  EXPECT_EQ(counts_of(skip, warning).suspicious(), 1U);
  EXPECT_EQ(counts_of(skip, pass).suspicious(), 0U);
  EXPECT_EQ(counts_of(skip, skip).suspicious(), 0U);
  EXPECT_EQ(counts_of(skip, error).compared(), 1U);
  EXPECT_EQ(counts_of(skip, skip).compared(), 0U);
  ApiResult explained = of_status(skip, error);
  explained.rounding_only = true;
  EXPECT_FALSE(is_suspicious(explained));
}

TEST(VerdictCountsTest, ABackwardThatWasNotCheckedIsCounted) {
  EXPECT_EQ(counts_of(pass, skip).backward_unchecked, 1U);
  EXPECT_EQ(counts_of(error, skip).backward_unchecked, 1U);
  EXPECT_EQ(counts_of(pass, pass).backward_unchecked, 0U);
  EXPECT_EQ(counts_of(pass, std::nullopt).backward_unchecked, 0U);
  EXPECT_EQ(counts_of(skip, skip).backward_unchecked, 0U);
  ApiResult by_rule = of_status(pass, skip);
  by_rule.message = "This API does not support backward ut, skip backward.";
  VerdictCounts counts;
  counts.add(by_rule);
  EXPECT_EQ(counts.backward_unchecked, 0U);
  conclude_from_rows(by_rule);
  EXPECT_EQ(by_rule.weak_evidence, WeakEvidence::backward_left_out);
}

TEST(VerdictCountsTest, ACallWithoutAnOutputIsNotCompared) {
  ApiResult nothing = of_status(pass, std::nullopt);
  nothing.weak_evidence = WeakEvidence::nothing_compared;
  VerdictCounts counts;
  counts.add(nothing);
  EXPECT_EQ(counts.pass, 1U);
  EXPECT_EQ(counts.compared(), 0U);
  nothing.backward = pass;
  counts.add(nothing);
  EXPECT_EQ(counts.compared(), 1U);
}

TEST(VerdictCountsTest, WhatRoundingDoesNotExplainIsSuspicious) {
  VerdictCounts counts;
  counts.add(of_status(pass, pass));
  ApiResult explained = of_status(warning, pass);
  explained.rounding_only = true;
  counts.add(explained);
  counts.add(of_status(warning, error));
  EXPECT_EQ(counts.rounding_only, 1U);
  EXPECT_EQ(counts.suspicious(), 1U);
}

TEST(VerdictCountsTest, WhatIsNotTheSameEachTimeIsSuspiciousUnlessDeclared) {
  ApiResult result = of_status(pass, pass);
  result.repeats = {3, 0, false};
  VerdictCounts counts;
  counts.add(result);
  EXPECT_EQ(counts.suspicious() + counts.unsteady + counts.varying, 0U);
  result.repeats->different = 1;
  counts.add(result);
  EXPECT_EQ(counts.unsteady, 1U);
  EXPECT_EQ(counts.suspicious(), 1U);
  result.repeats->may_vary = true;
  counts.add(result);
  EXPECT_EQ(counts.varying, 1U);
  EXPECT_EQ(counts.suspicious(), 1U);
  result.agreement = {Agreement::Verdict::undecided, "", "", {}};
  counts.add(result);
  EXPECT_EQ(counts.devices_differ, 1U);
  EXPECT_EQ(counts.suspicious(), 2U);
  // One whose values are suspicious as well counts once.
  result.forward = error;
  counts.add(result);
  EXPECT_EQ(counts.suspicious(), 3U);
  // Where there is no verdict there is nothing to suspect, but the finding stands.
  result = of_status(skip, skip);
  result.agreement = {Agreement::Verdict::blamed, "", "", {}};
  counts.add(result);
  EXPECT_EQ(counts.suspicious(), 3U);
  EXPECT_EQ(counts.devices_differ, 3U);
}

ApiResult of_outcome(Outcome outcome) {
  ApiResult result = of_status(skip, skip);
  result.outcome = outcome;
  return result;
}

TEST(VerdictCountsTest, WhatIsNotCheckedIsInOneOfThreeClasses) {
  VerdictCounts counts;
  counts.add(of_outcome(Outcome::skipped_by_rule));
  for (int i = 0; i < 2; ++i) counts.add(of_outcome(Outcome::not_checkable));
  for (int i = 0; i < 3; ++i) counts.add(of_outcome(Outcome::failed_to_run));
  EXPECT_EQ(counts.skip, 6U);
  EXPECT_EQ(counts.skipped_by_rule, 1U);
  EXPECT_EQ(counts.not_checkable, 2U);
  EXPECT_EQ(counts.failed_to_run, 3U);
}

TEST(VerdictCountsTest, ABackwardThatFailedToRunIsNoPass) {
  for (const Status forward : {pass, warning, error}) {
    ApiResult result = of_status(forward, skip);
    result.outcome = Outcome::failed_to_run;
    result.rounding_only = forward == warning;
    VerdictCounts counts;
    counts.add(result);
    EXPECT_EQ(counts.failed_to_run, 1U);
    EXPECT_EQ(counts.skip, forward == error ? 0U : 1U);
    EXPECT_EQ(counts.error, forward == error ? 1U : 0U);
    EXPECT_EQ(counts.pass + counts.warning + counts.rounding_only, 0U);
  }
}

TEST(VerdictCountsTest, WhatFailedToRunDidNotPass) {
  VerdictCounts counts;
  counts.add(of_outcome(Outcome::failed_to_run));
  EXPECT_EQ(counts.passing_rate(), "0.00%");
  for (int i = 0; i < 3; ++i) counts.add(of_status(pass, pass));
  EXPECT_EQ(counts.passing_rate(), "75.00%");
}

TEST(VerdictCountsTest, PassingRate) {
  VerdictCounts counts;
  EXPECT_EQ(counts.passing_rate(), "0%");
  counts.add(of_outcome(Outcome::not_checkable));
  counts.add(of_outcome(Outcome::skipped_by_rule));
  EXPECT_EQ(counts.passing_rate(), "0%");
  counts.add(of_status(pass, pass));
  EXPECT_EQ(counts.passing_rate(), "100.00%");
  counts.add(of_status(error, pass));
  counts.add(of_status(warning, pass));
  EXPECT_EQ(counts.passing_rate(), "33.33%");
}

}  // namespace
}  // namespace msrun
