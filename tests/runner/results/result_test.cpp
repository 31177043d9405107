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

TEST(Result, IsWhatWasEncoded) {
  for (const Status status : {Status::pass, Status::warning, Status::error, Status::skip}) {
    for (const bool rounding_only : {false, true}) {
      ApiResult result = result_of(status, Status::pass);
      result.rounding_only = rounding_only;
      result.inputs = 0xFEDCBA9876543210U;
      result.forward_rows = {row_of(status, rounding_only), row_of(status, !rounding_only)};
      const ApiResult back = decode_result(encode(result));
      EXPECT_EQ(back.forward, status);
      EXPECT_EQ(back.rounding_only, rounding_only);
      EXPECT_EQ(back.inputs, result.inputs);
      ASSERT_EQ(back.forward_rows.size(), 2U);
      EXPECT_EQ(back.forward_rows[0].status, status);
      EXPECT_EQ(back.forward_rows[0].rounding_only, rounding_only);
      EXPECT_EQ(back.forward_rows[1].rounding_only, !rounding_only);
      EXPECT_EQ(back.forward_rows[0].cells, result.forward_rows[0].cells);
      EXPECT_EQ(encode(back), encode(result));
    }
  }
}

TEST(Result, CutShortOrOutOfRangeIsRefused) {
  ApiResult result = result_of(Status::pass, Status::pass);
  result.forward_rows = {row_of(Status::pass, false)};
  const std::string whole = encode(result);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(decode_result(std::string_view(whole).substr(0, size)), std::runtime_error) << size;
  }
  std::string unknown = whole;
  unknown[sizeof(std::uint32_t) * 3 + result.name.size()] = 4;  // the forward status, behind task, name and device
  EXPECT_THROW(decode_result(unknown), std::runtime_error);
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
