// What api_precision_compare says of one output: standards, limits, blanks and numbers that are none.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tools/api_precision_compare/command.h"
#include "tools/api_precision_compare/inputs.h"

namespace msrun::api_precision_compare {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

OutputRow row(const char* dtype, std::initializer_list<std::pair<Metric, double>> values, const char* status = "pass") {
  OutputRow result;
  result.dtype = dtype;
  result.shape = "(2, 3)";
  result.status = status;
  for (const auto& [metric, value] : values) {
    result.cells[static_cast<std::size_t>(metric)] = {InputCell::Kind::number, true, value};
  }
  return result;
}

OutputRow benchmark_row(double error, const char* status = "pass", const char* dtype = "torch.float32") {
  return row(dtype,
             {{Metric::small_value_error_ratio, 0},
              {Metric::rmse, error},
              {Metric::max_relative_error, error},
              {Metric::mean_relative_error, error},
              {Metric::error_balance, error}},
             status);
}

Judgement judged(const char* api, const OutputRow& npu, const OutputRow& gpu, const Rules& rules = {}) {
  Judgement judgement;
  judge(api, npu, gpu, rules, judgement);
  return judgement;
}

TEST(ApiPrecisionCompareJudge, ErrorWithoutANumberIsAnError) {
  OutputRow npu = row("torch.float32", {}, "error");
  npu.message = "The shape of bench\n and npu not equal.";
  const Judgement careful = judged("add", npu, benchmark_row(0.1));
  EXPECT_EQ(careful.status, Status::error);
  EXPECT_THAT(careful.message, HasSubstr("The shape of bench and npu not equal."));
  const Rules upstream{.policy = Policy::current, .compat_msprobe = true, .english = false};
  EXPECT_EQ(judged("add", npu, benchmark_row(0.1), upstream).status, Status::pass);
  // A value that is no tensor has no dtype to look at, upstream skips it.
  npu.dtype = " ";
  EXPECT_EQ(judged("add", npu, npu).status, Status::error);
  EXPECT_EQ(judged("add", npu, npu, upstream).status, Status::skip);
  npu.dtype = "<class 'int'>";
  EXPECT_EQ(judged("size", npu, npu).status, Status::error);
  // float64 is not compared, whatever acc_check says.
  npu.dtype = "torch.float64";
  EXPECT_EQ(judged("add", npu, npu).status, Status::skip);
}

TEST(ApiPrecisionCompareJudge, ABlankValueDoesNotPass) {
  OutputRow npu = benchmark_row(0.1);
  npu.cells[static_cast<std::size_t>(Metric::rmse)] = {};
  Judgement judgement = judged("softmax", npu, benchmark_row(0.1));
  EXPECT_EQ(judgement.status, Status::skip);
  EXPECT_EQ(judgement.message, "NPU: 均方根误差 is blank.");
  // But what is there may fail.
  EXPECT_EQ(judged("softmax", npu, benchmark_row(0.001)).status, Status::error);
  // The error balance never decides.
  npu = benchmark_row(0.1);
  npu.cells[static_cast<std::size_t>(Metric::error_balance)] = {};
  EXPECT_EQ(judged("softmax", npu, benchmark_row(0.1)).status, Status::pass);
}

TEST(ApiPrecisionCompareJudge, TheGpusBlankIsTheHardestComparison) {
  const OutputRow blank = row("torch.float32", {});
  EXPECT_EQ(judged("softmax", benchmark_row(0x1p-14), blank).status, Status::pass);
  const Judgement worse = judged("softmax", benchmark_row(0.1), blank);
  EXPECT_EQ(worse.status, Status::error);
  EXPECT_THAT(worse.message, HasSubstr("taken for 0: 小值域错误占比, 均方根误差"));
  OutputRow garbled = benchmark_row(0.1);
  garbled.cells[static_cast<std::size_t>(Metric::rmse)].kind = InputCell::Kind::other;
  EXPECT_EQ(judged("softmax", benchmark_row(0.1), garbled).status, Status::skip);
}

TEST(ApiPrecisionCompareJudge, FilledColumnsDecideTheStandard) {
  const OutputRow ulp = row("torch.float32", {{Metric::ulp_mean, 1}, {Metric::ulp_over_limit, 0}});
  // A file of the policy per_api, read under the other one.
  EXPECT_EQ(judged("matmul", ulp, ulp, {.policy = Policy::current}).standard, Standard::ulp);
  // The other way round.
  EXPECT_EQ(judged("matmul", benchmark_row(0.1), benchmark_row(0.1)).standard, Standard::benchmark);
  const OutputRow rates =
      row("torch.float16",
          {{Metric::inf_nan_error_rate, 0}, {Metric::relative_error_rate, 0}, {Metric::absolute_error_rate, 0.5}});
  EXPECT_EQ(judged("softmax", rates, rates).standard, Standard::absolute_threshold);
  EXPECT_EQ(judged("softmax", rates, rates).status, Status::error);
  const OutputRow dual = row("torch.float32", {{Metric::dual_1000, 0.9985}});
  EXPECT_EQ(judged("relu", dual, dual).standard, Standard::dual_1000);
  EXPECT_EQ(judged("relu", dual, dual).status, Status::error);
}

OutputRow ulp_row(double share, double mean, const char* dtype = "torch.bfloat16") {
  return row(dtype, {{Metric::ulp_mean, mean}, {Metric::ulp_over_limit, share}});
}

constexpr Rules as_upstream{.policy = Policy::per_api, .compat_msprobe = true, .english = false};

TEST(ApiPrecisionCompareJudge, TheShareOfUlpErrorsIsSmallOrBelowTheGpus) {
  const auto status = [](double npu, double gpu, const Rules& rules = {}) {
    return judged("matmul", ulp_row(npu, 2), ulp_row(gpu, 1), rules).status;
  };
  EXPECT_EQ(status(0.0009, 0), Status::pass);
  EXPECT_EQ(status(0.001, 0), Status::error);
  EXPECT_EQ(status(0.002, 0.001), Status::error);
  EXPECT_EQ(status(0.002, 0.002), Status::error);
  EXPECT_EQ(status(0.002, 0.0021), Status::pass);
  EXPECT_EQ(status(0.5, 0.6), Status::pass);
  // Upstream divides by at least 2^-8 for bfloat16.
  EXPECT_EQ(status(0.002, 0.001, as_upstream), Status::pass);
  EXPECT_EQ(status(0.5, 0.5, as_upstream), Status::error);
  const Judgement worse = judged("matmul", ulp_row(0.002, 2), ulp_row(0.0015, 1));
  EXPECT_EQ(worse.worst, "ULP Error Over Limit Ratio 0.002 (must be below 0.001 or the GPU's 0.0015)");
  // The rules of float32 are those of upstream, which has two more.
  EXPECT_EQ(judged("matmul", ulp_row(0.04, 100, "torch.float32"), ulp_row(0, 0)).status, Status::pass);
  EXPECT_EQ(judged("matmul", ulp_row(0.5, 63, "torch.float32"), ulp_row(0, 0)).status, Status::pass);
  EXPECT_EQ(judged("matmul", ulp_row(0.05, 64, "torch.float32"), ulp_row(0, 0)).status, Status::error);
}

TEST(ApiPrecisionCompareJudge, ARunAgainstItselfPassesTheUlpStandard) {
  for (const double share : {0.0, 0.001, 0.002, 0.3, 1.0}) {
    for (const char* dtype : {"torch.float16", "torch.bfloat16", "torch.float32"}) {
      const OutputRow same = ulp_row(share, 100, dtype);
      EXPECT_EQ(judged("matmul", same, same).status, Status::pass) << share << dtype;
    }
  }
  const OutputRow unknown = ulp_row(0.3, not_a_number);
  EXPECT_EQ(judged("matmul", unknown, unknown).status, Status::error);
}

// precision_metrics.md D6.
TEST(ApiPrecisionCompareJudge, DualThousandPassesAtItsLimit) {
  const auto status = [](double value, const Rules& rules = {}) {
    const OutputRow dual = row("torch.float32", {{Metric::dual_1000, value}});
    return judged("conv2d", dual, dual, rules).status;
  };
  EXPECT_EQ(status(0.9991), Status::pass);
  EXPECT_EQ(status(0.999), Status::pass);
  EXPECT_EQ(status(0.9989), Status::error);
  EXPECT_EQ(status(0.999, as_upstream), Status::pass);
}

TEST(ApiPrecisionCompareJudge, LooksBehindTheRatios) {
  const auto with_largest = [](double error, double largest, const char* status) {
    OutputRow result = benchmark_row(error, status);
    result.cells[static_cast<std::size_t>(Metric::max_abs_error)] = {InputCell::Kind::number, true, largest};
    return result;
  };
  // Inf and NaN are masked out of every ratio.
  for (const double largest : {infinite, not_a_number}) {
    const OutputRow npu = with_largest(0.1, largest, "error");
    EXPECT_EQ(judged("softmax", npu, with_largest(0.1, 0.1, "pass")).status, Status::error);
    EXPECT_EQ(judged("softmax", npu, with_largest(0.1, largest, "error")).status, Status::pass);
    const Rules upstream{.policy = Policy::per_api, .compat_msprobe = true, .english = false};
    EXPECT_EQ(judged("softmax", npu, with_largest(0.1, 0.1, "pass"), upstream).status, Status::pass);
  }
  // So are small values but for their share.
  OutputRow npu = benchmark_row(0, "error");
  OutputRow gpu = benchmark_row(0);
  for (OutputRow* side : {&npu, &gpu}) {
    side->cells[static_cast<std::size_t>(Metric::small_value_error_ratio)].value = 1;
  }
  EXPECT_EQ(judged("softmax", npu, gpu).status, Status::error);
  gpu.status = "error";
  EXPECT_EQ(judged("softmax", npu, gpu).status, Status::pass);
}

TEST(ApiPrecisionCompareJudge, EqualInfAndNanAgree) {
  for (const double value : {infinite, -infinite, not_a_number}) {
    const Judgement judgement = judged("softmax", benchmark_row(value), benchmark_row(value));
    EXPECT_EQ(judgement.status, Status::pass);
    EXPECT_THAT(judgement.message, HasSubstr("均方根误差同为同号inf或nan\n"));
  }
  EXPECT_EQ(judged("softmax", benchmark_row(infinite), benchmark_row(-infinite)).status, Status::error);
  EXPECT_EQ(judged("softmax", benchmark_row(not_a_number), benchmark_row(1)).excess, infinite);
}

TEST(ApiPrecisionCompareJudge, LimitsAreStrictAndByLevel) {
  const OutputRow gpu = benchmark_row(0.25);
  EXPECT_EQ(judged("softmax", benchmark_row(0.5), gpu).status, Status::pass);
  EXPECT_EQ(judged("softmax", benchmark_row(0.5001), gpu).status, Status::error);
  EXPECT_EQ(judged("embedding", benchmark_row(0.5), gpu).status, Status::error);
  EXPECT_EQ(judged("layer_norm", benchmark_row(0.3), gpu).status, Status::pass);
  EXPECT_EQ(judged("layer_norm", benchmark_row(0.3001), gpu).status, Status::error);
  // Upstream's list spells it otherwise, so that its limit is that of all others there.
  EXPECT_EQ(judged("gelu", benchmark_row(0.45), gpu).status, Status::error);
  EXPECT_EQ(judged("gelu", benchmark_row(0.45), gpu, {.compat_msprobe = true}).status, Status::pass);
  const Judgement failed = judged("layer_norm", benchmark_row(0.5), gpu, {.english = true});
  EXPECT_EQ(failed.worst, "RMSE: ratio 2 (limit 1.2)");
  EXPECT_DOUBLE_EQ(failed.excess, 2 / 1.2);
  EXPECT_THAT(failed.message, AllOf(HasSubstr("ERROR: RMSE: NPU to GPU over the limit\n"), Not(HasSubstr("均方根"))));
}

}  // namespace
}  // namespace msrun::api_precision_compare
