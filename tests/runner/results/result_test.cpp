#include "runner/results/result.h"

#include <gtest/gtest.h>

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

TEST(Result, IsExplainedIfEveryFailingRowIs) {
  ApiResult result = result_of(Status::warning, Status::pass);
  EXPECT_FALSE(explained_by_rounding(result)) << "no row says so";
  result.forward_rows = {row_of(Status::pass, false), row_of(Status::warning, true)};
  EXPECT_TRUE(explained_by_rounding(result));
  result.forward_rows.push_back(row_of(Status::error, false));
  EXPECT_FALSE(explained_by_rounding(result));
  result.forward_rows.pop_back();
  result.backward = Status::error;
  result.backward_rows = {row_of(Status::error, false)};
  EXPECT_FALSE(explained_by_rounding(result));
  result.backward_rows = {row_of(Status::error, true)};
  EXPECT_TRUE(explained_by_rounding(result));
  EXPECT_FALSE(explained_by_rounding(result_of(Status::pass, Status::pass))) << "there is nothing to explain";
}

}  // namespace
}  // namespace msrun
