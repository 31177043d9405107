#include "orchestrator/session/overflow_report.h"

#include <spdlog/spdlog.h>

#include "kernels/base/text.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

void log_finding(const Dialect& dialect, const ApiResult& result) {
  const std::string message = sanitised(result.message);
  const bool by_rule = !result.overflow && result.device < 0;
  if (!result.overflow && !by_rule) {
    spdlog::error("Run {} acc_check Error: {}", result.name, message);
    return;
  }
  const bool quiet = by_rule && dialect.is_outside_of_overflow_check(result.name);
  spdlog::log(quiet ? spdlog::level::info : spdlog::level::warn, "{}", message);
}

}  // namespace

std::string overflow_header() {
  return "\xEF\xBB\xBF"
         "API name,CPU overflow,Device overflow,Verdict,Message\r\n";
}

std::string overflow_row(const ApiResult& result) {
  using Verdict = OverflowFinding::Verdict;
  const bool judged = result.overflow && result.overflow->verdict != Verdict::not_judged;
  const auto side = [&](bool overflow) { return !judged ? " " : overflow ? "True" : "False"; };
  std::string row;
  append_csv_field(row, result.name);
  row += std::string(",") + side(judged && result.overflow->bench) + "," + side(judged && result.overflow->device);
  row += !judged ? ",skip," : result.overflow->verdict == Verdict::normal ? ",normal," : ",abnormal,";
  const bool simulated = judged && result.tested_on == TestedOn::simulated;
  append_csv_text(row, simulated ? result.message + " (" + std::string(simulated_notice) + ")" : result.message);
  return row + "\r\n";
}

OverflowReport::OverflowReport(const Dialect& dialect, ProgressView& other, const std::string& csv_path)
    : dialect_(dialect), other_(other) {
  if (csv_path.empty()) return;
  csv_.emplace(csv_path, AppendedFile::Mode::create_new);
  csv_->append(overflow_header());
}

void OverflowReport::api_result(const ApiResult& result) {
  other_.api_result(result);
  waiting_.emplace(result.task, result);
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_; first = waiting_.erase(first)) {
    report(first->second);
    ++next_;
  }
}

void OverflowReport::flush() {
  for (const auto& [task, result] : waiting_) report(result);
  waiting_.clear();
}

void OverflowReport::report(const ApiResult& result) {
  using Verdict = OverflowFinding::Verdict;
  const Verdict verdict = result.overflow ? result.overflow->verdict : Verdict::not_judged;
  ++(verdict == Verdict::normal ? counts_.normal : verdict == Verdict::abnormal ? counts_.abnormal : counts_.skipped);
  if (result.outcome == Outcome::failed_to_run) ++counts_.failed_to_run;
  if (result.outcome == Outcome::not_checkable) ++counts_.not_checkable;
  if (verdict == Verdict::normal && result.overflow->bench) ++counts_.both;
  log_finding(dialect_, result);
  if (csv_) csv_->append(overflow_row(result));
}

}  // namespace msrun
