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

TEST(VerdictCountsTest, PassingRate) {
  VerdictCounts counts;
  EXPECT_EQ(counts.passing_rate(), "0%");
  counts.add(of_status(skip, skip));
  EXPECT_EQ(counts.passing_rate(), "0%");
  counts.add(of_status(pass, pass));
  EXPECT_EQ(counts.passing_rate(), "100.00%");
  counts.add(of_status(error, pass));
  counts.add(of_status(warning, pass));
  EXPECT_EQ(counts.passing_rate(), "33.33%");
}

}  // namespace
}  // namespace msrun
