// run_overflow_check: which of the recorded calls overflow on the device and not on the CPU, or the other way round
// (acc_check_pytorch.md 12). The calls run like those of the pre-check, in runners under a supervisor, so that none of
// them can end the check; nothing is kept to be continued.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "orchestrator/session/job.h"
#include "orchestrator/session/overflow_report.h"
#include "orchestrator/session/run_form.h"

namespace msrun {

class OverflowJob final : public Job {
 public:
  const char* title() const override { return form_ ? form_->title() : "overflow check"; }
  void configure(const Options& options) override;
  void select(const Options& options, PlanOptions& plan_options) const override;
  void check_files(const SessionState& session) const override;
  void choose_files(const SessionState& session) override;
  ResultStore& open(const SessionState& session) override;
  ProgressView& view() override { return *report_; }
  void instruct(const SessionState& session, SupervisorOptions& supervision) override;
  void announce(RunStarted& event) const override;
  void finish(bool /*complete*/) override {
    results_->finish();
    report_->flush();
  }
  void finish_after_failure(const std::string& /*failure*/) override { report_->flush_to_log(); }
  std::uint64_t checked() const override;
  bool fails(FailOn level) const override;
  bool prints_results() const override { return csv_path_.empty(); }
  void tell_end(const SessionState& session, const RunFinished& event) override;
  void print_closing(const SessionState& session, const SessionEnd& end) override;
  void print_incomplete(const SessionState& session) const override;

 private:
  std::unique_ptr<RunForm> form_;  // of another layout than today's
  std::string csv_path_;           // empty: log lines alone
  std::optional<OverflowReport> report_;
  std::optional<ResultStore> results_;
};

}  // namespace msrun
