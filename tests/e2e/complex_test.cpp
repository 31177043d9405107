// A rotary embedding in complex numbers, as the original Llama code has it: polar coordinates, a complex product and
// the views that lead there and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/msrun_process.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

class ComplexRotaryEmbedding : public ::testing::Test {
 protected:
  // The rows of the results, the name of the call first.
  Rows results(std::vector<std::string> options) {
    options.insert(options.begin(), {"-api_info", dump("rope_complex"), "-o", out(), "-n", "1"});
    const Finished run = msrun(options, scratch_.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    Rows rows = read_csv(only_file(out(), "accuracy_checking_result_"));
    rows.erase(rows.begin());
    EXPECT_EQ(rows.size(), 7U);
    return rows;
  }
  Rows details() { return read_csv(only_file(out(), "accuracy_checking_details_")); }
  fs::path out() const { return scratch_ / "out"; }

  static bool has_backward(const std::string& api) { return api != "Torch.outer.0" && api != "Torch.polar.0"; }

  TemporaryDirectory scratch_;
};

TEST_F(ComplexRotaryEmbedding, RecordedResultsPass) {
  for (const auto& row : results({"--backend", "recorded"})) {
    EXPECT_EQ(row[1], "pass") << row[0];
    EXPECT_EQ(row[2], has_backward(row[0]) ? "pass" : " ") << row[0];
  }
  for (const auto& row : details()) {
    if (row[0] != "Tensor.__mul__.0.forward.output.0") continue;
    EXPECT_EQ(row[1], "torch.complex64");
    EXPECT_EQ(row[2], "torch.complex64");
    EXPECT_EQ(row[3], "(1, 5, 2, 4)");
    EXPECT_THAT(row.back(), HasSubstr("Real and imaginary parts are compared as separate elements."));
    return;
  }
  ADD_FAILURE() << "no row of the product";
}

TEST_F(ComplexRotaryEmbedding, SimulatedResultsPass) {
  for (const auto& row : results({})) {
    EXPECT_EQ(row[1], "pass") << row[0];
    EXPECT_EQ(row[2], has_backward(row[0]) ? "pass" : " ") << row[0];
  }
}

TEST_F(ComplexRotaryEmbedding, WrongElementIsFound) {
  for (const auto& row : results({"--sim-fault", "Tensor.__mul__.*=wrong-element"}))
    EXPECT_EQ(row[1], row[0] == "Tensor.__mul__.0" ? "error" : "pass") << row[0];
}

// msProbe has no comparison of complex tensors.
TEST_F(ComplexRotaryEmbedding, IsNeverComparableForMsprobe) {
  for (const auto& row : results({"--backend", "recorded", "--compat", "msprobe"})) {
    const bool complex =
        row[0] == "Torch.polar.0" || row[0] == "Torch.view_as_complex.0" || row[0] == "Tensor.__mul__.0";
    EXPECT_EQ(row[1], complex ? "error" : "pass") << row[0];
  }
  std::size_t messages = 0;
  for (const auto& row : details()) {
    if (row[0] != "Tensor.__mul__.0.forward.output.0") continue;
    EXPECT_EQ(row.back(), "Bench out dtype is complex64 but npu output dtype is complex64, cannot compare.");
    ++messages;
  }
  EXPECT_EQ(messages, 1U);
}

}  // namespace
}  // namespace msrun::testing
