#include "tools/api_precision_compare/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tools/api_precision_compare/standard_judge.h"

namespace msrun::api_precision_compare {

namespace {

constexpr RowError not_a_text{"'float' object has no attribute 'isspace'"};

// The standards whose columns are looked at when those of the API's own are blank. Dual-1000 is last, because its
// column is part of acc_check's own walk as well.
constexpr std::array standards_by_columns{Standard::ulp, Standard::absolute_threshold, Standard::benchmark,
                                          Standard::binary_consistency, Standard::dual_1000};

bool all_blank(const OutputRow& row, std::span<const Metric> metrics) {
  return std::ranges::all_of(metrics, [&](Metric metric) { return is_blank(row[metric]); });
}

bool none_blank(const OutputRow& row, std::span<const Metric> metrics) {
  return std::ranges::none_of(metrics, [&](Metric metric) { return is_blank(row[metric]); });
}

bool is_space(std::string_view text) {
  return !text.empty() && text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
}

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

// Which standard judges an output, and what is said of one that none can judge.
class Judge {
 public:
  Judge(std::string_view api, const OutputRow& npu, const OutputRow& gpu, const Rules& rules, Judgement& judgement)
      : api_(api), npu_(npu), gpu_(gpu), rules_(rules), result_(judgement) {}

  void run() {
    if (rules_.compat_msprobe) {
      run_as_upstream();
    } else {
      run_carefully();
    }
  }

 private:
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
    result_.note_worst(one_line(result_.message), std::numeric_limits<double>::infinity());
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

  void by_standard(Standard standard) { judge_by_standard(standard, api_, npu_, gpu_, rules_, result_); }

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
  Judgement& result_;
};

}  // namespace

void Judgement::clear() {
  status = Status::skip;
  standard.reset();
  for (std::string& column : columns) column = " ";
  message.clear();
  beyond_upstream = false;
  unreadable.clear();
  row_error = false;
  worst.clear();
  excess = 0;
}

void Judgement::note_worst(const std::string& what, double of_limit) {
  if (!worst.empty() && !(of_limit > excess)) return;
  worst = what;
  excess = of_limit;
}

bool is_unsupported_dtype(std::string_view dtype) {
  return dtype == "torch.float64" || dtype == "torch.complex64" || dtype == "torch.complex128";
}

void judge(std::string_view api, const OutputRow& npu, const OutputRow& gpu, const Rules& rules, Judgement& judgement) {
  judgement.clear();
  Judge(api, npu, gpu, rules, judgement).run();
}

}  // namespace msrun::api_precision_compare
