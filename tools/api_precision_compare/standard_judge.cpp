#include "tools/api_precision_compare/standard_judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "kernels/base/text.h"

namespace msrun::api_precision_compare {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::array ulp_inputs{Metric::ulp_mean, Metric::ulp_over_limit};
constexpr std::array absolute_inputs{Metric::inf_nan_error_rate, Metric::relative_error_rate,
                                     Metric::absolute_error_rate};
constexpr std::array accumulative_inputs{Metric::inf_nan_error_rate, Metric::relative_error_rate,
                                         Metric::absolute_error_rate, Metric::error_balance};
constexpr std::array benchmark_inputs{Metric::small_value_error_ratio, Metric::rmse, Metric::max_relative_error,
                                      Metric::mean_relative_error, Metric::error_balance};
constexpr std::array binary_inputs{Metric::binary_error_rate};
constexpr std::array dual_1000_inputs{Metric::dual_1000};

// A text in both languages.
struct Text {
  const char* chinese;
  const char* english;
};

// An output of type float8 or HiFloat8: it has the ULP standard whatever its API is.
bool is_float8_output(std::string_view dtype) {
  return select_standard("", dtype, false, Policy::per_api) == Standard::ulp;
}

class StandardJudge {
 public:
  StandardJudge(std::string_view api, const OutputRow& npu, const OutputRow& gpu, const Rules& rules,
                Judgement& judgement)
      : api_(api),
        npu_(npu),
        rules_(rules),
        limits_(comparison_limits(npu.dtype)),
        values_(npu, gpu, rules),
        result_(judgement) {}

  void by_standard(Standard standard) {
    result_.standard = standard;
    switch (standard) {
      case Standard::absolute_threshold:
        by_rates();
        break;
      case Standard::accumulative_error:
        by_accumulative_error();
        break;
      case Standard::ulp:
        by_ulp();
        break;
      case Standard::binary_consistency:
        by_binary_consistency();
        break;
      case Standard::dual_1000:
        by_dual_1000();
        break;
      case Standard::benchmark:
        by_benchmark();
        break;
    }
  }

  // What cannot be judged does not pass.
  void add_missing() {
    if (result_.status == Status::error && !values_.blank_on_gpu().empty()) {
      result_.beyond_upstream = true;
      result_.message += "Blank in the GPU file and taken for 0: " + values_.blank_on_gpu() + ".";
    }
    result_.unreadable = values_.unreadable();
    if (values_.missing().empty()) return;
    result_.beyond_upstream = true;
    if (!result_.message.empty() && !result_.message.ends_with('\n')) result_.message += ' ';
    result_.message += values_.missing();
    if (result_.status != Status::error) result_.status = Status::skip;
  }

 private:
  std::string fixed(double value) const { return cell_text(Cell::fp64(value), rules_.decimals); }

  enum class Agreement : std::uint8_t { finite, same, different };
  struct Ratio {
    double value = nan;
    Agreement agreement = Agreement::finite;
  };

  Ratio ratio(double npu, double gpu) const {
    if (std::isfinite(npu) && std::isfinite(gpu)) {
      return {std::fabs(npu) / std::max(std::fabs(gpu), limits_.least_error), Agreement::finite};
    }
    const bool same = std::isinf(npu) || std::isinf(gpu) ? npu == gpu : std::isnan(npu) && std::isnan(gpu);
    return {nan, same ? Agreement::same : Agreement::different};
  }

  void note(Agreement agreement, Metric metric) {
    if (agreement == Agreement::finite) return;
    const bool same = agreement == Agreement::same;
    result_.message += metric_title(metric, rules_.english);
    if (rules_.english) {
      result_.message += same ? " is inf of one sign or nan on both sides" : ": inf or nan differs between the sides";
    } else {
      result_.message += same ? "同为同号inf或nan" : "inf或nan不一致";
    }
    result_.message += '\n';
  }

  void add_error(const char* chinese, const char* english, bool line = true) {
    result_.message += "ERROR: " + std::string(rules_.english ? english : chinese) + (line ? "\n" : "");
  }

  static std::string value_text(Metric metric, const char* kind, double value, double limit) {
    return std::string(metric_title(metric, true)) + kind + short_number(value) + " (limit " + short_number(limit) +
           ")";
  }

  void by_benchmark() {
    const OperatorLevel& level =
        operator_level(api_, rules_.compat_msprobe ? LevelNames::upstream : LevelNames::documented);
    struct Compared {
      Metric metric;
      Output column;
      double limit;
    };
    const std::array<Compared, 5> all{{
        {Metric::small_value_error_ratio, Output::small_value_ratio, level.small_value_error},
        {Metric::rmse, Output::rmse_ratio, level.rmse},
        {Metric::max_relative_error, Output::max_relative_ratio, level.max_relative_error},
        {Metric::mean_relative_error, Output::mean_relative_ratio, level.mean_relative_error},
        {Metric::error_balance, Output::error_balance_ratio, level.error_balance},
    }};
    std::array<bool, 5> failed{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [metric, column, limit] = all[i];
      // The balance never decides.
      const bool decides = metric != Metric::error_balance;
      if (!rules_.compat_msprobe && !decides && !values_.are_comparable(metric)) continue;
      const std::optional<double> npu = values_.npu(metric);
      if (!npu) continue;
      const std::optional<double> gpu = values_.gpu(metric);
      if (!gpu) continue;
      const auto [value, agreement] = ratio(*npu, *gpu);
      note(agreement, metric);
      failed[i] = agreement == Agreement::different || value > limit;
      result_[column] = fixed(value);
      result_[static_cast<Output>(static_cast<int>(column) + 1)] = failed[i] ? "error" : "pass";
      if (!failed[i] || !decides) continue;
      if (agreement == Agreement::different) {
        result_.note_worst(std::string(metric_title(metric, true)) + ": " + short_number(*npu) + " on the NPU, " +
                               short_number(*gpu) + " on the GPU",
                           infinity);
      } else {
        result_.note_worst(value_text(metric, ": ratio ", value, limit), value / limit);
      }
    }
    if (failed[0]) add_error("小值域错误比值超过阈值", "Small Value Error Ratio: NPU to GPU over the limit");
    if (failed[1]) add_error("均方根误差比值超过阈值", "RMSE: NPU to GPU over the limit");
    if (failed[2]) add_error("相对误差最大值比值超过阈值", "Max Relative Error: NPU to GPU over the limit");
    if (failed[3]) add_error("相对误差平均值比值超过阈值", "Mean Relative Error: NPU to GPU over the limit");
    result_.status = failed[0] || failed[1] || failed[2] || failed[3] ? Status::error : Status::pass;
  }

  void by_ulp() {
    const std::optional<double> mean = values_.npu(Metric::ulp_mean);
    const std::optional<double> proportion = values_.npu(Metric::ulp_over_limit);
    if (!mean || !proportion) return;
    result_[Output::ulp_proportion] = fixed(*proportion);
    bool passes = *proportion < limits_.ulp_proportion;
    if (is_float8_output(npu_.dtype)) {
      if (!passes)
        result_.note_worst(value_text(Metric::ulp_over_limit, " ", *proportion, limits_.ulp_proportion), *proportion);
      return finish_ulp(passes);
    }
    result_[Output::ulp_mean] = fixed(*mean);
    passes = passes || *mean < limits_.ulp_mean;
    const std::optional<double> gpu_mean = values_.gpu(Metric::ulp_mean);
    const std::optional<double> gpu_proportion = values_.gpu(Metric::ulp_over_limit);
    if (!gpu_mean || !gpu_proportion) return;
    const Agreement means = ratio(*mean, *gpu_mean).agreement;
    const auto [value, proportions] = ratio(*proportion, *gpu_proportion);
    note(means, Metric::ulp_mean);
    note(proportions, Metric::ulp_over_limit);
    result_[Output::ulp_ratio] = fixed(value);
    if (means == Agreement::different || proportions == Agreement::different) {
      result_.note_worst("ULP error: inf or nan differs between the sides", infinity);
      add_ulp_error();
      return;
    }
    if (rules_.compat_msprobe) {
      passes = passes || value < ulp_ratio_limit;
    } else {
      // Numbers that are the GPU's own are no less precise than the GPU's; NaN is no number.
      const bool same = *mean == *gpu_mean && *proportion == *gpu_proportion;
      passes = passes || *proportion < *gpu_proportion || same;
    }
    if (!passes) note_ulp(*proportion, *gpu_proportion, value);
    finish_ulp(passes);
  }

  void note_ulp(double npu, double gpu, double ratio) {
    const std::string title(metric_title(Metric::ulp_over_limit, true));
    if (rules_.compat_msprobe) {
      result_.note_worst(
          title + ": ratio " + short_number(ratio) + " (must be below " + short_number(ulp_ratio_limit) + ")", ratio);
    } else {
      const double limit = std::max(limits_.ulp_proportion, gpu);
      result_.note_worst(title + " " + short_number(npu) + " (must be below " + short_number(limits_.ulp_proportion) +
                             " or the GPU's " + short_number(gpu) + ")",
                         npu / limit);
    }
  }

  void finish_ulp(bool passes) {
    result_[Output::ulp_status] = passes ? "pass" : "error";
    result_.status = Status::pass;
    if (!passes) add_ulp_error();
  }

  void add_ulp_error() {
    result_.status = Status::error;
    add_error("ULP误差不满足标准", "the ULP error does not meet the standard");
  }

  // A rate that must be zero.
  bool rate(Metric metric, Output column) {
    const std::optional<double> value = values_.needed(metric);
    if (!value) return true;
    const bool passes = *value == 0;
    result_[column] = fixed(*value);
    result_[static_cast<Output>(static_cast<int>(column) + 1)] = passes ? "pass" : "error";
    if (!passes) fail_rate(metric, *value);
    return passes;
  }

  // Rates have no ratio: they rank behind the ratios, the larger the earlier.
  void fail_rate(Metric metric, double value) {
    result_.note_worst(std::string(metric_title(metric, true)) + " " + short_number(value),
                       std::isnan(value) ? 1 : std::min(value, 1.0));
  }

  struct Rates {
    bool inf_nan;
    bool relative;
    bool absolute;
  };
  Rates rates() {
    if (rules_.compat_msprobe) {
      for (const Metric metric : absolute_inputs) values_.needed(metric);
    }
    Rates passes{};
    passes.inf_nan = rate(Metric::inf_nan_error_rate, Output::inf_nan_rate);
    passes.relative = rate(Metric::relative_error_rate, Output::relative_rate);
    passes.absolute = rate(Metric::absolute_error_rate, Output::absolute_rate);
    result_.status = passes.inf_nan && passes.relative && passes.absolute ? Status::pass : Status::error;
    return passes;
  }

  static constexpr Text inf_nan_error{"inf/nan错误率超过阈值", "Inf/NaN Mismatch Rate is not 0"};
  static constexpr Text relative_error{"相对误差错误率超过阈值", "Relative Error Rate is not 0"};
  static constexpr Text absolute_error{"绝对误差错误率超过阈值", "Absolute Error Rate is not 0"};

  void by_rates() {
    const auto [inf_nan, relative, absolute] = rates();
    for (const auto& [passes, text] :
         {std::pair{inf_nan, inf_nan_error}, {relative, relative_error}, {absolute, absolute_error}}) {
      if (passes) continue;
      if (rules_.english && !result_.message.empty()) result_.message += ' ';
      add_error(text.chinese, text.english, false);
    }
  }

  void by_accumulative_error() {
    const auto [inf_nan, relative, absolute] = rates();
    const std::optional<double> balance = values_.needed(Metric::error_balance);
    const bool balanced = !balance || *balance <= limits_.error_balance;
    if (balance) {
      result_[Output::error_balance_ratio] = fixed(*balance);
      result_[Output::error_balance_status] = balanced ? "pass" : "error";
    }
    if (!balanced) {
      result_.status = Status::error;
      result_.note_worst(value_text(Metric::error_balance, " ", *balance, limits_.error_balance), *balance);
    }
    constexpr Text balance_error{"误差均衡性超过阈值", "Error Balance is over the limit"};
    for (const auto& [passes, text] : {std::pair{inf_nan, inf_nan_error},
                                       {relative, relative_error},
                                       {absolute, absolute_error},
                                       {balanced, balance_error}}) {
      if (passes) continue;
      if (!result_.message.empty()) result_.message += '\n';
      add_error(text.chinese, text.english);
    }
  }

  void by_binary_consistency() {
    const std::optional<double> value = values_.needed(Metric::binary_error_rate);
    if (!value) return;
    const bool passes = *value == 0;
    result_[Output::binary_rate] = npu_.binary_error_rate;
    result_[Output::binary_status] = passes ? "pass" : "error";
    result_.status = passes ? Status::pass : Status::error;
    if (passes) return;
    fail_rate(Metric::binary_error_rate, *value);
    add_error("二进制一致错误率超过阈值", "Binary Mismatch Rate is not 0");
  }

  void by_dual_1000() {
    const std::optional<double> value = values_.needed(Metric::dual_1000);
    if (!value) return;
    const bool passes = *value >= dual_1000_limit;
    result_[Output::dual_1000] = npu_.dual_1000;
    result_[Output::dual_1000_status] = passes ? "pass" : "error";
    result_.status = passes ? Status::pass : Status::error;
    if (passes) return;
    fail_rate(Metric::dual_1000, 1 - *value);
    result_.worst = std::string(metric_title(Metric::dual_1000, true)) + " " + short_number(*value) + " (at least " +
                    short_number(dual_1000_limit) + ")";
    add_error("双千指标不达标", "Dual-1000 is below its limit");
  }

  std::string_view api_;
  const OutputRow& npu_;
  const Rules& rules_;
  const ComparisonLimits& limits_;
  RowValues values_;
  Judgement& result_;
};

}  // namespace

std::span<const Metric> inputs(Standard standard) {
  switch (standard) {
    case Standard::ulp:
      return ulp_inputs;
    case Standard::absolute_threshold:
      return absolute_inputs;
    case Standard::accumulative_error:
      return accumulative_inputs;
    case Standard::binary_consistency:
      return binary_inputs;
    case Standard::dual_1000:
      return dual_1000_inputs;
    case Standard::benchmark:
      break;
  }
  return benchmark_inputs;
}

void judge_by_standard(Standard standard, std::string_view api, const OutputRow& npu, const OutputRow& gpu,
                       const Rules& rules, Judgement& judgement) {
  StandardJudge judge(api, npu, gpu, rules, judgement);
  judge.by_standard(standard);
  if (!rules.compat_msprobe) judge.add_missing();
}

}  // namespace msrun::api_precision_compare
