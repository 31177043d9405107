#include "orchestrator/session/overflow_report.h"

#include <unistd.h>

#include <spdlog/spdlog.h>

#include "kernels/base/text.h"
#include "orchestrator/view/result_text.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

void log_finding(const Dialect& dialect, const ApiResult& result, bool compat_msprobe) {
  const std::string message = sanitised(result.message);
  const bool by_rule = !result.overflow && result.device < 0;
  if (!result.overflow && !by_rule) {
    // What cannot be checked as it was recorded is no failure of the call.
    if (result.outcome == Outcome::not_checkable && !compat_msprobe) {
      spdlog::warn("{} was not checked: {}", result.name, message);
    } else {
      spdlog::error("Run {} acc_check Error: {}", result.name, message);
    }
    return;
  }
  const bool is_sound = result.overflow && result.overflow->is_none() && !compat_msprobe;
  const bool quiet = is_sound || (by_rule && dialect.is_outside_of_overflow_check(result.name));
  spdlog::log(quiet ? spdlog::level::info : spdlog::level::warn, "{}", message);
}

}  // namespace

std::string overflow_header() {
  return "\xEF\xBB\xBF"
         "API name,CPU overflow,Device overflow,Verdict,Message\r\n";
}

std::string overflow_row(const ApiResult& result, bool compat_msprobe) {
  using Verdict = OverflowFinding::Verdict;
  const bool judged = result.overflow && result.overflow->verdict != Verdict::not_judged;
  const auto side = [&](bool overflow) { return !judged ? " " : overflow ? "True" : "False"; };
  std::string row;
  append_csv_field(row, result.name);
  row += std::string(",") + side(judged && result.overflow->bench) + "," + side(judged && result.overflow->device);
  const bool is_normal = judged && compat_msprobe && result.overflow->is_none();
  row += "," + std::string(is_normal ? "normal" : judged ? overflow_verdict(*result.overflow) : "skip") + ",";
  const bool simulated = judged && result.tested_on == TestedOn::simulated && !compat_msprobe;
  append_csv_text(row, simulated ? result.message + " (" + std::string(simulated_notice) + ")" : result.message);
  return row + "\r\n";
}

OverflowReport::OverflowReport(const Dialect& dialect, bool compat_msprobe, ProgressView& other,
                               const std::string& csv_path)
    : dialect_(dialect), compat_msprobe_(compat_msprobe), other_(other) {
  if (csv_path.empty()) return;
  const std::string name(base_name(csv_path));
  const Folder folder(csv_path.substr(0, csv_path.size() - name.size()));
  csv_.emplace(folder, name, AppendedFile::Mode::create_new);
  try {
    csv_->append(overflow_header());
  } catch (const WriteError&) {
    unlinkat(folder.descriptor(), name.c_str(), 0);
    throw;
  }
}

void OverflowReport::api_result(const ApiResult& result) {
  other_.api_result(result);
  waiting_.emplace(result.task, result);
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    ++next_;
    report_first();
  }
}

void OverflowReport::flush() {
  while (!waiting_.empty()) report_first();
}

void OverflowReport::flush_to_log() {
  csv_.reset();
  flush();
}

// One whose row cannot be written is reported all the same, and waits no more.
void OverflowReport::report_first() { report(waiting_.extract(waiting_.begin()).mapped()); }

void OverflowReport::report(const ApiResult& result) {
  using Verdict = OverflowFinding::Verdict;
  if (!result.overflow || result.overflow->verdict == Verdict::not_judged) {
    ++counts_.skipped;
  } else if (result.overflow->is_none()) {
    ++counts_.none;
    if (result.weak_evidence == WeakEvidence::nothing_compared) ++counts_.empty;
  } else {
    ++(result.overflow->verdict == Verdict::normal ? counts_.normal : counts_.abnormal);
  }
  if (result.outcome == Outcome::failed_to_run) ++counts_.failed_to_run;
  if (result.outcome == Outcome::not_checkable) ++counts_.not_checkable;
  if (log_) {
    log_(result);
  } else {
    log_finding(dialect_, result, compat_msprobe_);
  }
  if (csv_) csv_->append(overflow_row(result, compat_msprobe_));
}

}  // namespace msrun
