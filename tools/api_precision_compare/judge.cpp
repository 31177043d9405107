#include "tools/api_precision_compare/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "kernels/text.h"

namespace msrun::api_precision_compare {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Title {
  const char* chinese;
  const char* english;
};

constexpr std::array<Title, output_count> output_titles{{
    {"小值域错误比值", "Small Value Error Ratio of NPU to GPU"},
    {"小值域判定结果", "Small Value Verdict"},
    {"均方根误差比值", "RMSE Ratio of NPU to GPU"},
    {"均方根误差判定结果", "RMSE Verdict"},
    {"相对误差最大值比值", "Max Relative Error Ratio of NPU to GPU"},
    {"相对误差最大值判定结果", "Max Relative Error Verdict"},
    {"相对误差平均值比值", "Mean Relative Error Ratio of NPU to GPU"},
    {"相对误差平均值判定结果", "Mean Relative Error Verdict"},
    {"误差均衡性比值", "Error Balance Ratio of NPU to GPU"},
    {"误差均衡性判定结果", "Error Balance Verdict"},
    {"inf/nan错误率", "Inf/NaN Mismatch Rate"},
    {"inf/nan判定结果", "Inf/NaN Verdict"},
    {"相对误差错误率", "Relative Error Rate"},
    {"相对误差判定结果", "Relative Error Verdict"},
    {"绝对误差错误率", "Absolute Error Rate"},
    {"绝对误差判定结果", "Absolute Error Verdict"},
    {"二进制一致错误率", "Binary Mismatch Rate"},
    {"二进制一致错误率判定结果", "Binary Mismatch Verdict"},
    {"ULP误差平均值", "Mean ULP Error"},
    {"ULP误差大于阈值占比", "ULP Error Over Limit Ratio"},
    {"ULP误差大于阈值占比比值", "ULP Error Over Limit Ratio of NPU to GPU"},
    {"ULP误差判定结果", "ULP Verdict"},
    {"双千指标", "Dual-1000"},
    {"双千指标判定结果", "Dual-1000 Verdict"},
}};

constexpr std::array ulp_inputs{Metric::ulp_mean, Metric::ulp_over_limit};
constexpr std::array absolute_inputs{Metric::inf_nan_error_rate, Metric::relative_error_rate,
                                     Metric::absolute_error_rate};
constexpr std::array accumulative_inputs{Metric::inf_nan_error_rate, Metric::relative_error_rate,
                                         Metric::absolute_error_rate, Metric::error_balance};
constexpr std::array benchmark_inputs{Metric::small_value_error_ratio, Metric::rmse, Metric::max_relative_error,
                                      Metric::mean_relative_error, Metric::error_balance};
constexpr std::array binary_inputs{Metric::binary_error_rate};
constexpr std::array dual_1000_inputs{Metric::dual_1000};

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

// The standards whose columns are looked at when those of the API's own are blank. Dual-1000 is last, because its
// column is part of acc_check's own walk as well.
constexpr std::array standards_by_columns{Standard::ulp, Standard::absolute_threshold, Standard::benchmark,
                                          Standard::binary_consistency, Standard::dual_1000};

bool is_blank(const InputCell& cell) { return cell.kind == InputCell::Kind::blank; }
bool is_number(const InputCell& cell) { return cell.kind == InputCell::Kind::number; }

bool all_blank(const OutputRow& row, std::span<const Metric> metrics) {
  return std::ranges::all_of(metrics, [&](Metric metric) { return is_blank(row[metric]); });
}

bool none_blank(const OutputRow& row, std::span<const Metric> metrics) {
  return std::ranges::none_of(metrics, [&](Metric metric) { return is_blank(row[metric]); });
}

bool is_space(std::string_view text) {
  return !text.empty() && text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
}

// An output of type float8 or HiFloat8: it has the ULP standard whatever its API is.
bool is_float8_output(std::string_view dtype) {
  return select_standard("", dtype, false, Policy::per_api) == Standard::ulp;
}

std::string fixed(double value) { return cell_text(Cell::fp64(value), 14); }

// The message of acc_check as one line.
std::string one_line(std::string_view message) {
  std::string line;
  for (const char c : message) {
    const bool blank = c == '\n' || c == '\r' || c == ' ';
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

// What upstream reports for a row in place of a verdict.
struct RowError {
  const char* text;
};
constexpr RowError not_a_text{"'float' object has no attribute 'isspace'"};
constexpr RowError empty_text{"ERROR: Input data is an empty string"};
constexpr RowError no_number{"ERROR: Input data cannot be converted to float"};

class Judge {
 public:
  Judge(std::string_view api, const OutputRow& npu, const OutputRow& gpu, const Rules& rules, Judgement& judgement)
      : api_(api), npu_(npu), gpu_(gpu), rules_(rules), limits_(comparison_limits(npu.dtype)), result_(judgement) {}

  void run() {
    if (rules_.compat_msprobe) {
      run_as_upstream();
    } else {
      run_carefully();
    }
  }

 private:
  enum class Agreement : std::uint8_t { finite, same, different };
  struct Ratio {
    double value = nan;
    Agreement agreement = Agreement::finite;
  };

  void run_as_upstream() {
    try {
      if (is_missing_value(npu_.dtype)) throw not_a_text;
      if (is_skipped_by_upstream()) {
        result_.message = is_missing_value(npu_.message) ? "nan" : npu_.message;
        return;
      }
      const InputCell& relative = npu_[Metric::relative_error_rate];
      if (!relative.is_text) throw not_a_text;
      by_standard(select_standard(api_, npu_.dtype, !is_blank(relative), rules_.policy));
    } catch (const RowError& error) {
      result_.clear();
      result_.message = error.text;
      result_.row_error = true;
    }
  }

  // By precision_metrics.md 15, 1 to 3: blank is not zero, the columns that are filled decide, and what acc_check found
  // wrong without computing a number is wrong.
  void run_carefully() {
    const bool nothing_computed =
        std::ranges::all_of(standards_by_columns, [&](Standard standard) { return all_blank(npu_, inputs(standard)); });
    const bool is_wrong = npu_.status == "error" && nothing_computed && !is_unsupported_dtype(npu_.dtype);
    if (is_wrong) return fail_by_acc_check("acc_check computed no number for this output");
    if (is_skipped_by_upstream() || npu_.dtype.empty()) return skip_by_upstream();
    if (nothing_computed) {
      const std::string message = one_line(npu_.message);
      return skip("acc_check computed no value of any standard" + (message.empty() ? "." : ": " + message));
    }
    const std::optional<Standard> standard = standard_of_columns();
    if (!standard) return skip("The values of no standard are complete.");
    by_standard(*standard);
    add_missing();
    if (result_.status == Status::pass) look_behind_ratios(*standard);
  }

  bool is_skipped_by_upstream() const {
    return is_space(npu_.dtype) || is_unsupported_dtype(npu_.dtype) || npu_.shape == "(0,)";
  }

  void skip_by_upstream() {
    if (!one_line(npu_.message).empty()) {
      result_.message = npu_.message;
      return;
    }
    if (is_unsupported_dtype(npu_.dtype)) return skip("The data type " + npu_.dtype + " is not compared.");
    skip(npu_.shape == "(0,)" ? "The output has no elements." : "acc_check did not compare this output.");
  }

  void skip(const std::string& reason) {
    result_.status = Status::skip;
    result_.message = reason;
    result_.beyond_upstream = true;
  }

  void fail_by_acc_check(const std::string& reason) {
    const std::string message = one_line(npu_.message);
    result_.message += reason + (message.empty() ? "." : ": " + message);
    result_.beyond_upstream = true;
    set_worst(one_line(result_.message), infinity);
    result_.status = Status::error;
  }

  std::optional<Standard> standard_of_columns() const {
    const bool has_rates = !is_blank(npu_[Metric::relative_error_rate]);
    Standard standard = select_standard(api_, npu_.dtype, has_rates, rules_.policy);
    // The rates are those of the accumulative-error standard if the balance was computed with them.
    if (has_rates && !is_blank(npu_[Metric::error_balance]) &&
        select_standard(api_, npu_.dtype, false, Policy::per_api) == Standard::accumulative_error) {
      standard = Standard::accumulative_error;
    }
    if (!all_blank(npu_, inputs(standard))) return standard;
    for (const Standard other : standards_by_columns) {
      if (none_blank(npu_, inputs(other))) return other;
    }
    return std::nullopt;
  }

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

  // A value that must be there. Nothing if it is not, which is noted; upstream gives up the row.
  std::optional<double> needed(Metric metric) {
    const InputCell& cell = npu_[metric];
    if (is_number(cell)) return cell.value;
    if (rules_.compat_msprobe) throw is_blank(cell) ? empty_text : no_number;
    miss("NPU", metric, cell);
    return std::nullopt;
  }

  // A value of the comparison with the GPU, where upstream takes blank for zero.
  std::optional<double> npu_value(Metric metric) {
    const InputCell& cell = npu_[metric];
    if (is_number(cell)) return cell.value;
    if (rules_.compat_msprobe) {
      if (!is_blank(cell)) throw no_number;
      return 0.0;
    }
    miss("NPU", metric, cell);
    return std::nullopt;
  }

  // A GPU without errors is the hardest to compare with, so zero can take the place of a value that it lacks: what
  // passes would pass in any case.
  std::optional<double> gpu_value(Metric metric) {
    const InputCell& cell = gpu_[metric];
    if (is_number(cell)) return cell.value;
    if (is_blank(cell)) {
      blank_on_gpu_ += (blank_on_gpu_.empty() ? "" : ", ") + std::string(metric_title(metric, rules_.english));
      return 0.0;
    }
    if (rules_.compat_msprobe) throw no_number;
    miss("GPU", metric, cell);
    return std::nullopt;
  }

  void miss(const char* side, Metric metric, const InputCell& cell) {
    missing_ += (missing_.empty() ? "" : " ") + std::string(side) + ": " + metric_title(metric, rules_.english) +
                (is_blank(cell) ? " is blank." : " is not a number.");
  }

  // What cannot be judged does not pass.
  void add_missing() {
    if (result_.status == Status::error && !blank_on_gpu_.empty()) {
      result_.beyond_upstream = true;
      result_.message += "Blank in the GPU file and taken for 0: " + blank_on_gpu_ + ".";
    }
    if (missing_.empty()) return;
    result_.beyond_upstream = true;
    result_.message += missing_;
    if (result_.status != Status::error) result_.status = Status::skip;
  }

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

  void set_worst(const std::string& what, double excess) {
    if (!result_.worst.empty() && !(excess > result_.excess)) return;
    result_.worst = what;
    result_.excess = excess;
  }

  static std::string value_text(Metric metric, const char* kind, double value, double limit) {
    return std::string(metric_title(metric, true)) + kind + short_number(value) + " (limit " + short_number(limit) +
           ")";
  }

  void by_benchmark() {
    const OperatorLevel& level = operator_level(api_);
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
      const bool usable = is_number(npu_[metric]) && gpu_[metric].kind != InputCell::Kind::other;
      if (!rules_.compat_msprobe && !decides && !usable) continue;
      const std::optional<double> npu = npu_value(metric);
      if (!npu) continue;
      const std::optional<double> gpu = gpu_value(metric);
      if (!gpu) continue;
      const auto [value, agreement] = ratio(*npu, *gpu);
      note(agreement, metric);
      failed[i] = agreement == Agreement::different || value > limit;
      result_[column] = fixed(value);
      result_[static_cast<Output>(static_cast<int>(column) + 1)] = failed[i] ? "error" : "pass";
      if (!failed[i] || !decides) continue;
      if (agreement == Agreement::different) {
        set_worst(std::string(metric_title(metric, true)) + ": " + short_number(*npu) + " on the NPU, " +
                      short_number(*gpu) + " on the GPU",
                  infinity);
      } else {
        set_worst(value_text(metric, ": ratio ", value, limit), value / limit);
      }
    }
    if (failed[0]) add_error("小值域错误比值超过阈值", "Small Value Error Ratio: NPU to GPU over the limit");
    if (failed[1]) add_error("均方根误差比值超过阈值", "RMSE: NPU to GPU over the limit");
    if (failed[2]) add_error("相对误差最大值比值超过阈值", "Max Relative Error: NPU to GPU over the limit");
    if (failed[3]) add_error("相对误差平均值比值超过阈值", "Mean Relative Error: NPU to GPU over the limit");
    result_.status = failed[0] || failed[1] || failed[2] || failed[3] ? Status::error : Status::pass;
  }

  void by_ulp() {
    const std::optional<double> mean = npu_value(Metric::ulp_mean);
    const std::optional<double> proportion = npu_value(Metric::ulp_over_limit);
    if (!mean || !proportion) return;
    result_[Output::ulp_proportion] = fixed(*proportion);
    bool passes = *proportion < limits_.ulp_proportion;
    if (is_float8_output(npu_.dtype)) {
      if (!passes) set_worst(value_text(Metric::ulp_over_limit, " ", *proportion, limits_.ulp_proportion), *proportion);
      return finish_ulp(passes);
    }
    result_[Output::ulp_mean] = fixed(*mean);
    passes = passes || *mean < limits_.ulp_mean;
    const std::optional<double> gpu_mean = gpu_value(Metric::ulp_mean);
    const std::optional<double> gpu_proportion = gpu_value(Metric::ulp_over_limit);
    if (!gpu_mean || !gpu_proportion) return;
    const Agreement means = ratio(*mean, *gpu_mean).agreement;
    const auto [value, proportions] = ratio(*proportion, *gpu_proportion);
    note(means, Metric::ulp_mean);
    note(proportions, Metric::ulp_over_limit);
    result_[Output::ulp_ratio] = fixed(value);
    if (means == Agreement::different || proportions == Agreement::different) {
      set_worst("ULP error: inf or nan differs between the sides", infinity);
      add_ulp_error();
      return;
    }
    passes = passes || value < ulp_ratio_limit;
    if (!passes) {
      set_worst(std::string(metric_title(Metric::ulp_over_limit, true)) + ": ratio " + short_number(value) +
                    " (must be below " + short_number(ulp_ratio_limit) + ")",
                value);
    }
    finish_ulp(passes);
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
    const std::optional<double> value = needed(metric);
    if (!value) return true;
    const bool passes = *value == 0;
    result_[column] = fixed(*value);
    result_[static_cast<Output>(static_cast<int>(column) + 1)] = passes ? "pass" : "error";
    if (!passes) fail_rate(metric, *value);
    return passes;
  }

  // Rates have no ratio: they rank behind the ratios, the larger the earlier.
  void fail_rate(Metric metric, double value) {
    set_worst(std::string(metric_title(metric, true)) + " " + short_number(value),
              std::isnan(value) ? 1 : std::min(value, 1.0));
  }

  struct Rates {
    bool inf_nan;
    bool relative;
    bool absolute;
  };
  Rates rates() {
    if (rules_.compat_msprobe) {
      for (const Metric metric : absolute_inputs) needed(metric);
    }
    Rates passes{};
    passes.inf_nan = rate(Metric::inf_nan_error_rate, Output::inf_nan_rate);
    passes.relative = rate(Metric::relative_error_rate, Output::relative_rate);
    passes.absolute = rate(Metric::absolute_error_rate, Output::absolute_rate);
    result_.status = passes.inf_nan && passes.relative && passes.absolute ? Status::pass : Status::error;
    return passes;
  }

  static constexpr Title inf_nan_error{"inf/nan错误率超过阈值", "Inf/NaN Mismatch Rate is not 0"};
  static constexpr Title relative_error{"相对误差错误率超过阈值", "Relative Error Rate is not 0"};
  static constexpr Title absolute_error{"绝对误差错误率超过阈值", "Absolute Error Rate is not 0"};

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
    const std::optional<double> balance = needed(Metric::error_balance);
    const bool balanced = !balance || *balance <= limits_.error_balance;
    if (balance) {
      result_[Output::error_balance_ratio] = fixed(*balance);
      result_[Output::error_balance_status] = balanced ? "pass" : "error";
    }
    if (!balanced) {
      result_.status = Status::error;
      set_worst(value_text(Metric::error_balance, " ", *balance, limits_.error_balance), *balance);
    }
    constexpr Title balance_error{"误差均衡性超过阈值", "Error Balance is over the limit"};
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
    const std::optional<double> value = needed(Metric::binary_error_rate);
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
    const std::optional<double> value = needed(Metric::dual_1000);
    if (!value) return;
    const bool passes = *value >= least_dual_1000;
    result_[Output::dual_1000] = npu_.dual_1000;
    result_[Output::dual_1000_status] = passes ? "pass" : "error";
    result_.status = passes ? Status::pass : Status::error;
    if (passes) return;
    fail_rate(Metric::dual_1000, 1 - *value);
    result_.worst = std::string(metric_title(Metric::dual_1000, true)) + " " + short_number(*value) + " (at least " +
                    short_number(least_dual_1000) + ")";
    add_error("双千指标不达标", "Dual-1000 is below its limit");
  }

  // Errors that the values of a standard cannot show: Inf and NaN are left out of the ratios, and so are small values
  // once their share of errors is saturated.
  void look_behind_ratios(Standard standard) {
    if (standard != Standard::benchmark && standard != Standard::ulp && standard != Standard::dual_1000) return;
    const InputCell& npu_largest = npu_[Metric::max_abs_error];
    const InputCell& gpu_largest = gpu_[Metric::max_abs_error];
    if (is_number(npu_largest) && !std::isfinite(npu_largest.value) && is_number(gpu_largest) &&
        std::isfinite(gpu_largest.value)) {
      return fail_by_acc_check("ERROR: the NPU's output has Inf or NaN where the GPU's is right; acc_check");
    }
    const bool gpu_is_right = gpu_.status == "pass" || gpu_.status == "warning";
    if (standard == Standard::benchmark && npu_.status == "error" && gpu_is_right && npu_[Metric::rmse].value == 0 &&
        npu_[Metric::max_relative_error].value == 0) {
      fail_by_acc_check("ERROR: acc_check found an error on the NPU alone that the ratios leave out");
    }
  }

  std::string_view api_;
  const OutputRow& npu_;
  const OutputRow& gpu_;
  const Rules& rules_;
  const ComparisonLimits& limits_;
  Judgement& result_;
  std::string missing_;
  std::string blank_on_gpu_;
};

}  // namespace

void Judgement::clear() {
  status = Status::skip;
  standard.reset();
  for (std::string& column : columns) column = " ";
  message.clear();
  beyond_upstream = false;
  row_error = false;
  worst.clear();
  excess = 0;
}

std::string details_titles(bool english) {
  std::string titles = "API Name";
  for (const Title& title : output_titles) titles += "," + std::string(english ? title.english : title.chinese);
  return titles + (english ? ",Compare Result,Compare Algorithm,Message" : ",比对结果,比对算法,Message");
}

const char* algorithm_text(Standard standard, bool english) {
  switch (standard) {
    case Standard::absolute_threshold:
      return english ? "absolute threshold" : "绝对阈值法";
    case Standard::binary_consistency:
      return english ? "binary consistency" : "二进制一致法";
    case Standard::ulp:
      return english ? "ULP error" : "ULP误差比对法";
    case Standard::dual_1000:
      return english ? "dual-1000" : "双千指标法";
    case Standard::accumulative_error:
      return english ? "accumulative error" : "累积误差比对法";
    case Standard::benchmark:
      break;
  }
  return english ? "benchmark" : "标杆比对法";
}

bool is_unsupported_dtype(std::string_view dtype) {
  return dtype == "torch.float64" || dtype == "torch.complex64" || dtype == "torch.complex128";
}

void judge(std::string_view api, const OutputRow& npu, const OutputRow& gpu, const Rules& rules, Judgement& judgement) {
  judgement.clear();
  Judge(api, npu, gpu, rules, judgement).run();
}

}  // namespace msrun::api_precision_compare
