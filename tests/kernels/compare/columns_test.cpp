// Column sets, and rows of any set as CSV text.
#include "kernels/compare/metrics/columns.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/compare/details.h"
#include "kernels/compare/details_csv.h"
#include "kernels/compare/policies/column_sets.h"

namespace msrun {
namespace {

void write_plain(std::string& out, const Cell& cell, int precision) {
  if (cell.kind != Cell::Kind::blank)
    out += std::to_string(static_cast<int>(cell.value)) + "/" + std::to_string(precision);
}

constexpr std::array<Column, 2> two{{
    {Metric::max_relative_error, "Relative", "MaxRelativeErr"},
    {Metric::cosine, "a,b", "Cosine"},
}};
constexpr ColumnSet small_set{200, {"Bench", "Tested", "Shape"}, two, write_plain};

TEST(ColumnSets, HaveTheirOwnTitlesOrderAndText) {
  EXPECT_EQ(details_titles(small_set, false), "Bench,Tested,Shape,Relative,\"a,b\",Status,Message\r\n");
  EXPECT_EQ(details_titles(small_set, true), "Bench,Tested,Shape,MaxRelativeErr,Cosine,Status,Message\r\n");
  DetailsRow row(small_set);
  row.bench_dtype = "Int64";
  row.device_dtype = "Int64";
  row.shape = "(1, 4096)";
  row[Metric::cosine] = Cell::fp64(1);
  ASSERT_EQ(row.cells.size(), 2U);
  EXPECT_EQ(row.cells[1], Cell::fp64(1));
  std::string text;
  append_details_cells(text, row, small_set, 7);
  EXPECT_EQ(text, ",Int64,Int64,\"(1, 4096)\",,1/7,pass,\r\n");
}

TEST(ColumnSets, AMetricWithoutColumnIsBlankAndCannotBeSet) {
  DetailsRow row(small_set);
  EXPECT_THROW(row[Metric::rmse] = Cell::fp64(1), std::logic_error);
  const DetailsRow& read = row;
  EXPECT_EQ(read[Metric::rmse], Cell{});
  DetailsRow without;
  EXPECT_THROW(without[Metric::cosine] = Cell::fp64(1), std::logic_error);
  without.status = Status::skip;
  without.message = "why";
  std::string text;
  append_details_cells(text, without, small_set, 14);
  EXPECT_EQ(text, ", , , ,,,SKIP,why\r\n");
}

TEST(ColumnSets, AreFoundByTheirId) {
  EXPECT_EQ(find_columns(pytorch_columns().id()), &pytorch_columns());
  EXPECT_EQ(find_columns(0), nullptr);
  EXPECT_EQ(find_columns(200), nullptr);
  EXPECT_EQ(pytorch_columns().size(), static_cast<std::size_t>(metric_count));
  for (const Column& column : pytorch_columns().columns()) {
    EXPECT_STREQ(metric_title(column.metric, false), column.chinese);
    EXPECT_STREQ(metric_title(column.metric, true), column.english);
  }
}

}  // namespace
}  // namespace msrun
