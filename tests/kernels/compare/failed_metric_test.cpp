// The limits of the status walk, and which of them an output missed.
#include "kernels/compare/policies/failed_metric.h"

#include <gtest/gtest.h>

#include "kernels/compare/policies/column_sets.h"

namespace msrun {
namespace {

TEST(FailedMetric, IsTheFirstOfTheWalkThatMissesItsLimit) {
  DetailsRow row(pytorch_columns());
  row.status = Status::warning;
  row[Metric::cosine] = Cell::fp64(0.999);
  row[Metric::max_abs_error] = Cell::fp64(0.5);
  row[Metric::dual_1000] = Cell::fp64(0.9995);
  row[Metric::dual_10000] = Cell::fp64(0.9);
  EXPECT_EQ(failed_metric(row, std::nullopt), Metric::dual_10000);
  row[Metric::dual_1000] = Cell::fp64(0.5);
  EXPECT_EQ(failed_metric(row, std::nullopt), Metric::dual_1000);
  row.status = Status::pass;
  EXPECT_EQ(failed_metric(row, std::nullopt), std::nullopt);
  DetailsRow mindspore(mindspore_columns());
  mindspore.status = Status::error;
  mindspore[Metric::cosine] = Cell::fp64(1);
  mindspore[Metric::max_abs_error] = Cell::fp64(0.0005);
  EXPECT_EQ(failed_metric(mindspore, 0.0001), Metric::max_abs_error);
  // Files of other tools do not say which limit that was.
  EXPECT_EQ(failed_metric(mindspore, std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace msrun
