#include "orchestrator/session/overflow_job.h"

#include <spdlog/spdlog.h>

#include "kernels/io/files/paths.h"
#include "orchestrator/session/limits.h"
#include "orchestrator/session/new_files.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

std::string csv_path(const std::string& directory, const std::string& stamp) {
  return join_path(directory, "overflow_check_result_" + stamp + ".csv");
}

}  // namespace

void OverflowJob::configure(const Options& options) {
  if (options.layout == ReportLayout::current) return;
  form_ = make_run_form(options.layout);
  check_att_overflow_input(options);
}

void OverflowJob::select(const Options& options, PlanOptions& plan_options) const {
  plan_options.refusal = [](const Dialect& dialect, const std::string& name) { return dialect.overflow_refusal(name); };
  plan_options.layout = options.layout;
  // The old log says which calls have a backward, although that is not checked.
  plan_options.forward_only = !form_ || options.backward.empty();
}

void OverflowJob::check_files(const SessionState& session) const {
  if (session.options.out_path_given) check_output_directory(session.options.out_path);
}

void OverflowJob::choose_files(const SessionState& session) {
  const Options& options = session.options;
  if (options.out_path_given) prepare_output_directory(options.out_path);
}

ResultStore& OverflowJob::open(const SessionState& session) {
  const auto make_report = [&] {
    report_.emplace(session.plan.dialect(), session.options.compat_msprobe, session.stdout_view, csv_path_);
    if (!form_) return;
    report_->log_with([plan = session.plan.view()](const ApiResult& result) {
      log_att_overflow(result, std::string(plan.recorded_name(result.task)), plan);
    });
  };
  if (!session.options.out_path_given) {
    make_report();
  } else {
    fresh_stamp([&](const std::string& stamp) {
      csv_path_ = csv_path(session.options.out_path, stamp);
      try {
        make_report();
        return true;
      } catch (const FileExists&) {
        return false;
      }
    });
  }
  return results_.emplace(session.plan.size(), *report_);
}

void OverflowJob::instruct(const SessionState& session, SupervisorOptions& supervision) {
  supervision.check.overflow = true;
  supervision.check.compare.compat_msprobe = session.options.compat_msprobe;
}

void OverflowJob::announce(RunStarted& event) const {
  if (!csv_path_.empty()) spdlog::info("overflow check result will be saved in {}", csv_path_);
  event.result_path = csv_path_;
  event.overflow_check = true;
}

std::uint64_t OverflowJob::checked() const {
  const OverflowCounts& counts = report_->counts();
  return counts.none - counts.empty + counts.normal + counts.abnormal;
}

bool OverflowJob::fails(FailOn level) const {
  const OverflowCounts& counts = report_->counts();
  if (level == FailOn::never) return false;
  return counts.abnormal + counts.failed_to_run > 0 || (level == FailOn::skip && counts.not_checkable > 0);
}

// In words that a human reads, the views would speak of verdicts.
void OverflowJob::tell_end(const SessionState& session, const RunFinished& event) {
  if (session.options.message_format == MessageFormat::json) {
    RunFinished with_counts = event;
    with_counts.overflow = report_->counts();
    report_->run_finished(with_counts);
  } else {
    session.console.set_status({});
  }
}

void OverflowJob::print_closing(const SessionState& session, const SessionEnd& end) {
  if (session.options.message_format == MessageFormat::json) return;
  const OverflowCounts& counts = report_->counts();
  spdlog::info("Of {} calls: {} no overflow, {} normal overflow (on both sides), {} abnormal overflow, {} skipped.",
               session.plan.size(), counts.none, counts.normal, counts.abnormal, counts.skipped);
  if (counts.empty > 0) {
    spdlog::info("Of the calls without an overflow {} {} no output that could have one.", counts.empty,
                 counts.empty == 1 ? "has" : "have");
  }
  if (counts.failed_to_run > 0) spdlog::warn("{} calls failed to run.", counts.failed_to_run);
  if (tested_on(*session.backend.row) == TestedOn::simulated) spdlog::warn("{}.", simulated_notice);
  if (!end.complete()) return;
  if (checked() == 0) {
    spdlog::error("Nothing was checked.");
  } else {
    spdlog::info("{}", form_ ? form_->last_line() : "acc_check task completed.");
  }
}

void OverflowJob::print_incomplete(const SessionState& session) const {
  spdlog::warn("The overflow check has not been completed. Start it again with: {}", overflow_command(session.options));
}

}  // namespace msrun
