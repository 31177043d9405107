#include "orchestrator/overflow.h"

#include <ctime>
#include <filesystem>
#include <iostream>
#include <system_error>

#include <spdlog/spdlog.h>

#include "kernels/api/operators.h"
#include "kernels/base/clock.h"
#include "kernels/base/text.h"
#include "orchestrator/input.h"
#include "orchestrator/run.h"
#include "orchestrator/supervisor.h"

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

std::string fresh_csv_path(const std::string& directory) {
  std::error_code ignored;
  for (std::time_t now = std::time(nullptr);; ++now) {
    std::string path = join_path(directory, "overflow_check_result_" + timestamp(now) + ".csv");
    if (!std::filesystem::exists(path, ignored)) return path;
  }
}

class OverflowCheck {
 public:
  explicit OverflowCheck(const Options& options)
      : options_(options),
        console_(std::cout),
        view_(make_stdout_view(is_json(), console_)),
        started_(steady_seconds()) {}

  int execute() {
    setup_logging(is_json(), console_);
    for (const std::string& notice : options_.notices) spdlog::warn("{}", notice);
    backend_ = choose_backend(options_);
    make_plan();
    if (options_.out_path_given) {
      prepare_output_directory(options_.out_path);
      csv_path_ = fresh_csv_path(options_.out_path);
    }
    const HeldSignals held;
    OverflowReport report(plan_.dialect(), *view_, csv_path_);
    ResultStore results(plan_.size(), report);
    return supervise(results, report);
  }

 private:
  bool is_json() const { return options_.message_format == MessageFormat::json; }

  void make_plan() {
    check_input(options_);
    PlanOptions plan_options;
    plan_options.skip_reason = [](const Dialect& dialect, const std::string& name) {
      return dialect.overflow_refusal(name);
    };
    plan_options.only = options_.only;
    plan_options.forward_only = true;
    plan_options.keep_results = backend_.name == "recorded";
    plan_options.stream_words = options_.seed_mode == SeedMode::stream;
    plan_ = read_plan(options_, plan_options);
    for (const std::string& warning : plan_.warnings()) spdlog::warn("{}", warning);
    if (backend_.name == "recorded") require_recorded_results(options_, plan_);
    warn_if_data_is_missing(options_, plan_);
    if (plan_.size() == 0) {
      spdlog::warn(options_.only.empty() ? "data field is empty, no overflow data found." : "No call matches --only.");
    }
  }

  int supervise(ResultStore& results, OverflowReport& report) {
    SupervisorOptions supervision = supervisor_options(options_, backend_, plan_);
    supervision.check.overflow = true;
    announce(supervision, report);

    try {
      Supervisor supervisor(plan_, supervision, results, report);
      const RunEnd end = supervisor.run();
      results.finish();
      report.flush();
      if (end == RunEnd::no_devices) spdlog::error("No device is left to run on.");
      return close(results, report, end == RunEnd::complete);
    } catch (const WriteError& error) {
      spdlog::error("{}", error.what());
    } catch (const std::system_error& error) {
      // No process could be started, or no memory or descriptor was left for it.
      spdlog::error("{}", error.what());
    }
    return close(results, report, false);
  }

  void announce(const SupervisorOptions& supervision, OverflowReport& report) const {
    spdlog::info("start overflow check");
    spdlog::info("Device under test: {}.", backend_.name);
    if (!csv_path_.empty()) spdlog::info("overflow check result will be saved in {}", csv_path_);
    RunStarted event;
    event.api_info = options_.api_info.empty() ? options_.forward : options_.api_info;
    event.result_path = csv_path_;
    event.backend = backend_.name;
    event.devices = options_.devices;
    event.threads = static_cast<int>(supervision.threads.front());
    event.total = plan_.size();
    report.run_started(event);
  }

  int close(const ResultStore& results, OverflowReport& report, bool complete) {
    const OverflowReport::Counts& counts = report.counts();
    const bool fail = options_.fail_on != FailOn::never && counts.abnormal > 0;
    const int code = !complete ? exit_incomplete : fail ? exit_fail_on : exit_completed;
    const RunFinished event = msrun::run_finished(results, plan_, complete, code, steady_seconds() - started_);
    if (is_json()) {
      report.run_finished(event);
      return code;
    }
    // The other views would say it in the words of the pre-check.
    console_.set_status({});
    spdlog::info(
        "Of {} calls {} are a normal overflow ({} of them overflow on both sides), {} an abnormal overflow, {} were "
        "skipped.",
        plan_.size(), counts.normal, counts.both, counts.abnormal, counts.skipped);
    if (complete) {
      spdlog::info("acc_check task completed.");
    } else {
      spdlog::warn("The overflow check has not been completed. Start it again with: {}", overflow_command(options_));
    }
    return code;
  }

  const Options& options_;
  Console console_;
  std::unique_ptr<ProgressView> view_;
  double started_;
  Backend backend_;
  Plan plan_;
  std::string csv_path_;
};

}  // namespace

int run_overflow_check(const Options& options) { return OverflowCheck(options).execute(); }

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
  append_csv_field(row, result.message);
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
  if (verdict == Verdict::normal && result.overflow->bench) ++counts_.both;
  log_finding(dialect_, result);
  if (csv_) csv_->append(overflow_row(result));
}

}  // namespace msrun
