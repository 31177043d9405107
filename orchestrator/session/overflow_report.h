// The findings of run_overflow_check (acc_check_pytorch.md 12): log lines in dump order and, with -o, a CSV file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "orchestrator/output/csv.h"
#include "orchestrator/view/progress_view.h"
#include "runner/dialects/dialect.h"

namespace msrun {

// First bytes of the CSV file, and the row of a call, in which msProbe calls a call without an overflow normal.
std::string overflow_header();
std::string overflow_row(const ApiResult& result, bool compat_msprobe);

// Logs the findings in dump order and appends them to the CSV file; everything is passed on to another view too.
class OverflowReport : public ProgressView {
 public:
  // dialect is that of the dump; other must outlive the report. compat_msprobe: a call without an overflow is a normal
  // overflow, as msProbe calls it. An empty path: no file. Refuses to overwrite with
  // FileExists. Throws WriteError, and leaves no file then.
  OverflowReport(const Dialect& dialect, bool compat_msprobe, ProgressView& other, const std::string& csv_path);

  void run_started(const RunStarted& event) override { other_.run_started(event); }
  void api_result(const ApiResult& result) override;
  void runner_died(const RunnerDied& event) override { other_.runner_died(event); }
  void progress(const ProgressState& state) override { other_.progress(state); }
  void run_finished(const RunFinished& event) override { other_.run_finished(event); }

  // What the log says of a finding, in place of the words of today.
  void log_with(std::function<void(const ApiResult&)> log) { log_ = std::move(log); }

  // Reports what still waits for a call before it, when no more results come.
  void flush();
  // The same without the file, which may be what could not be written.
  void flush_to_log();

  const OverflowCounts& counts() const { return counts_; }

 private:
  void report(const ApiResult& result);
  void report_first();

  const Dialect& dialect_;
  bool compat_msprobe_;
  ProgressView& other_;
  std::optional<AppendedFile> csv_;
  std::function<void(const ApiResult&)> log_;
  std::map<std::uint32_t, ApiResult> waiting_;  // for the calls before them
  std::uint32_t next_ = 0;
  OverflowCounts counts_;
};

}  // namespace msrun
