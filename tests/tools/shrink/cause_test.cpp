// The cause of a fault that shrink keeps while it makes a call smaller.
#include "tools/shrink/cause.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "runner/results/result.h"

namespace msrun::testing {
namespace {

using shrink::Cause;

DetailsRow row_of(const std::string& message, DifferenceMap::Kind kind) {
  DetailsRow row;
  row.status = Status::error;
  row.beyond_rounding = true;
  row.message = message;
  row.difference.emplace();
  row.difference->map.kind = kind;
  return row;
}

ApiResult result_with(const DetailsRow& row) {
  ApiResult result;
  result.forward = row.status;
  result.forward_rows.push_back(row);
  return result;
}

TEST(Cause, IsWhatTheMessageNamesWithoutNumbersOfTheShape) {
  using Kind = DifferenceMap::Kind;
  const std::string amount = "Not explained by rounding: 72 of 5000 elements differ, by more than 1e6 ULP.\n";
  const ApiResult tail = result_with(row_of(
      amount + "72 elements NaN where the benchmark is a number. Wrong are elements 4992 to 4999: the last partial "
               "tile of 128.\n",
      Kind::tail));
  const std::optional<Cause> cause = shrink::cause_of(tail);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->row, "forward.output.0");
  EXPECT_EQ(cause->finding, "# element NaN where the benchmark is a number");
  EXPECT_EQ(cause->place, "tail");
  const auto other = [&](const std::string& message, Kind kind) { return result_with(row_of(amount + message, kind)); };
  EXPECT_TRUE(shrink::shows(
      other("8 elements NaN where the benchmark is a number. Wrong are elements 128 to 135: the last tile of 16.\n",
            Kind::tail),
      *cause));
  EXPECT_FALSE(shrink::shows(other("8 elements NaN where the benchmark is a number.\n", Kind::everywhere), *cause));
  EXPECT_FALSE(shrink::shows(other("Wrong are elements 128 to 135: the last tile of 16.\n", Kind::tail), *cause));
  EXPECT_FALSE(shrink::shows(other("1 element NaN where the benchmark is a number.\n", Kind::element), *cause));

  const std::optional<Cause> sums = shrink::cause_of(
      other("Errors are those of float16 accumulation: computed so, the call gives this result.\n", Kind::everywhere));
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->finding, "Errors are those of float16 accumulation");
  EXPECT_EQ(sums->place, "");
  EXPECT_TRUE(shrink::shows(
      other("Errors have the size and spread of those of float16 accumulation.\n", Kind::scattered), *sums));
  EXPECT_FALSE(shrink::shows(
      other("Errors are those of bfloat16 accumulation: computed so, the call gives this result.\n", Kind::everywhere),
      *sums));

  const std::optional<Cause> factor =
      shrink::cause_of(other("Every element is 1.5 times the benchmark's.\n", Kind::everywhere));
  ASSERT_TRUE(factor);
  EXPECT_FALSE(shrink::shows(other("Every element is 2 times the benchmark's.\n", Kind::everywhere), *factor));
}

TEST(Cause, IsNoneOfWhatRoundingExplains) {
  DetailsRow row = row_of("Explained by rounding: sums of up to 9 terms in float32.\n", DifferenceMap::Kind::scattered);
  row.beyond_rounding = false;
  row.rounding_only = true;
  EXPECT_FALSE(shrink::cause_of(result_with(row)));
}

// A direction that was sound stays sound, or it is another fault.
TEST(Cause, IsAnotherWhereTheForwardFailsAsWell) {
  const DetailsRow wrong =
      row_of("Not explained by rounding: 9 of 9 elements differ.\n", DifferenceMap::Kind::everywhere);
  ApiResult backward;
  backward.backward_rows.push_back(wrong);
  const std::optional<Cause> cause = shrink::cause_of(backward);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->row, "backward.output.0");
  EXPECT_TRUE(shrink::shows(backward, *cause));
  backward.forward_rows.push_back(wrong);
  EXPECT_FALSE(shrink::shows(backward, *cause));
}

}  // namespace
}  // namespace msrun::testing
