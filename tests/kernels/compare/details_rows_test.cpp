// Which rows speak against the device, and how lines are added to a Message and found in it.
#include <gtest/gtest.h>

#include "kernels/compare/details.h"
#include "kernels/compare/metrics/message_lines.h"

namespace msrun {
namespace {

DetailsRow row_of(Status status, bool rounding_only, bool beyond_rounding) {
  DetailsRow row;
  row.status = status;
  row.rounding_only = rounding_only;
  row.beyond_rounding = beyond_rounding;
  return row;
}

TEST(DetailsRows, AreSuspiciousWhereNothingExplainsThem) {
  for (const Status status : {Status::warning, Status::error}) {
    EXPECT_TRUE(is_suspicious(row_of(status, false, false)));
    EXPECT_FALSE(is_suspicious(row_of(status, true, false)));
  }
  for (const Status status : {Status::pass, Status::skip}) {
    EXPECT_FALSE(is_suspicious(row_of(status, false, false)));
    // Of what has no values to compare, the dtype may be another one.
    EXPECT_TRUE(is_suspicious(row_of(status, false, true)));
  }
}

TEST(DetailsRows, LinesStandByThemselves) {
  DetailsRow row;
  add_line(row, "First.");
  EXPECT_EQ(row.message, "First.\n");
  row.message = "It has no end of line.";
  add_line(row, "Second.");
  add_line(row, "Third.");
  EXPECT_EQ(row.message, "It has no end of line.\nSecond.\nThird.\n");
}

TEST(DetailsRows, AVerdictIsFoundAndNeverTheFirstLine) {
  DetailsRow row;
  EXPECT_EQ(find_verdict(row.message, explained_line), std::string_view::npos);
  row.message = "Explained by whoever wrote this.";
  EXPECT_EQ(find_verdict(row.message, explained_line), std::string_view::npos);
  add_verdict(row, "Explained by rounding.");
  EXPECT_EQ(row.message.substr(find_verdict(row.message, explained_line)), "Explained by rounding.\n");
  row.message.clear();
  add_verdict(row, "Explained by rounding.");
  EXPECT_EQ(row.message, "\nExplained by rounding.\n");
}

}  // namespace
}  // namespace msrun
