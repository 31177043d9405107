#include "runner/results/result.h"

#include <gtest/gtest.h>

#include "runner/results/counts.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

DetailsRow row_of(Status status, bool rounding_only) {
  DetailsRow row(pytorch_columns());
  row.status = status;
  row.rounding_only = rounding_only;
  row.message = "\nlimit\n";
  row[Metric::cosine] = Cell::fp64(0.5);
  return row;
}

ApiResult result_of(Status forward, std::optional<Status> backward) {
  ApiResult result;
  result.name = "Torch.add.0";
  result.forward = forward;
  result.backward = backward;
  return result;
}

bool explained(ApiResult result) {
  conclude_from_rows(result);
  return result.rounding_only;
}

TEST(Result, IsExplainedIfEveryFailingRowIs) {
  ApiResult result = result_of(Status::warning, Status::pass);
  EXPECT_FALSE(explained(result)) << "no row says so";
  result.forward_rows = {row_of(Status::pass, false), row_of(Status::warning, true)};
  EXPECT_TRUE(explained(result));
  result.forward_rows.push_back(row_of(Status::error, false));
  EXPECT_FALSE(explained(result));
  result.forward_rows.pop_back();
  result.backward = Status::error;
  result.backward_rows = {row_of(Status::error, false)};
  EXPECT_FALSE(explained(result));
  result.backward_rows = {row_of(Status::error, true)};
  EXPECT_TRUE(explained(result));
  EXPECT_FALSE(explained(result_of(Status::pass, Status::pass))) << "there is nothing to explain";
}

TEST(Result, IsSuspiciousIfAnOutputThatPassesIsBeyondRounding) {
  ApiResult result = result_of(Status::pass, Status::pass);
  result.forward_rows = {row_of(Status::pass, false)};
  result.backward_rows = {row_of(Status::pass, false)};
  conclude_from_rows(result);
  EXPECT_FALSE(is_suspicious(result));
  result.backward_rows.front().beyond_rounding = true;
  conclude_from_rows(result);
  EXPECT_TRUE(is_suspicious(result));
  // Beside a warning that is explained, too.
  result.forward = Status::warning;
  result.forward_rows = {row_of(Status::warning, true)};
  conclude_from_rows(result);
  EXPECT_FALSE(result.rounding_only);
  EXPECT_TRUE(is_suspicious(result));
  EXPECT_EQ(reason_of(result).output, "backward.output.0");
}

TEST(Result, ProvesLittleByTheFirstReasonUnlessSuspicious) {
  ApiResult result = result_of(Status::pass, std::nullopt);
  result.forward_rows = {row_of(Status::pass, false), row_of(Status::pass, false)};
  result.forward_rows[1].trust.weak_evidence = WeakEvidence::constant;
  conclude_from_rows(result);
  EXPECT_EQ(result.weak_evidence, WeakEvidence::constant);
  EXPECT_TRUE(is_weak_evidence(result));
  result.forward_rows[0].beyond_rounding = true;
  conclude_from_rows(result);
  EXPECT_FALSE(is_weak_evidence(result));
  VerdictCounts counts;
  counts.add(result);
  EXPECT_EQ(counts.suspicious(), 1U);
  EXPECT_EQ(counts.weak, 0U);
  EXPECT_EQ(counts.pass, 1U);
}

}  // namespace
}  // namespace msrun
