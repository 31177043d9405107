// The pre-check: every call against the benchmark, the results journalled and shown in two CSVs, which a later run can
// continue.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/command/config.h"
#include "orchestrator/output/junit.h"
#include "orchestrator/session/error_data_folder.h"
#include "orchestrator/session/job.h"
#include "orchestrator/session/new_files.h"
#include "orchestrator/session/run_form.h"
#include "runner/results/attempts.h"

namespace msrun {

class PreCheckJob final : public Job {
 public:
  const char* title() const override { return form_->title(); }
  void configure(const Options& options) override;
  std::vector<std::string> quantization_apis() const override { return config_.quantization_api_list; }
  void select(const Options& options, PlanOptions& plan_options) const override;
  void inspect(const SessionState& session) const override;
  void check_files(const SessionState& session) const override;
  void choose_files(const SessionState& session) override;
  void finish_without_calls() override;
  ResultStore& open(const SessionState& session) override;
  OwnJournal own_journal() const override { return {files_.journal, attempts_}; }
  void leave_in_child() override { journal_->close_in_child(); }
  ProgressView& view() override { return *view_; }
  void instruct(const SessionState& session, SupervisorOptions& supervision) override;
  void make_durable() override { results_->make_durable(); }
  void announce(RunStarted& event) const override;
  void finish(bool complete) override;
  void finish_after_failure(const std::string& failure) override;
  std::uint64_t checked() const override { return results_->summary().counts().compared(); }
  bool fails(FailOn level) const override;
  std::string resume_command(const SessionState& session) const override;
  void tell_end(const SessionState& session, const RunFinished& event) override;
  void print_closing(const SessionState& session, const SessionEnd& end) override;
  void print_incomplete(const SessionState& session) const override;

 private:
  void begin(const SessionState& session, const CsvStyle& style);
  void say_part(const SessionState& session, bool complete) const;
  static bool has_rank_files(const Plan& plan, const RunFiles& files);
  bool open_error_data(const SessionState& session, const RunFiles& files, const EarlierErrorData& earlier = {});
  void restore(const Options& options, const Plan& plan, StoredResults earlier);
  void show_earlier();
  void warn_of_tensors_not_kept(const Plan& plan) const;
  void tell_earlier(const SessionState& session) const;
  void write_junit_file(const EachResult& each_result);
  std::future<std::string> begin_page();
  void require_saved_tensors() const;
  void write_page(std::future<std::string> page);
  void log_places(const char* what_of_result, const char* what_of_details) const;
  std::string summary_text(const SessionState& session) const;
  std::string slowest_text(std::size_t most) const;
  void put_suspects_last(const Plan& plan, SupervisorOptions& supervision) const;

  Config config_;
  std::unique_ptr<RunForm> form_;
  ShownNames names_;
  RunFiles files_;
  std::optional<Folder> error_data_;  // none: no tensors are kept
  bool tensors_were_kept_ = false;    // by the run that is continued, from its beginning
  AttemptHistory attempts_;
  std::unique_ptr<ProgressView> own_view_;  // of the form
  ProgressView* view_ = nullptr;
  NewFile new_journal_;
  NewFile new_error_data_;
  std::optional<AtomicFile> junit_;  // none: not asked for
  bool junit_begun_ = false;
  JunitFacts junit_facts_;
  std::vector<std::string> notes_;  // about the CSVs of the earlier run
  std::string not_counted_;         // what is told of results that the journal only keeps
  bool is_imported_ = false;        // that run is known from its CSVs alone
  std::optional<journal::Writer> journal_;
  std::optional<ResultStore> results_;
  std::vector<std::string> ranks_;  // names; empty: one recording
  bool resumed_ = false;
  bool takes_leases_ = false;
  bool report_wanted_ = false;
  bool report_written_ = false;
  std::vector<bool> earlier_;  // the calls that an earlier run has finished
};

}  // namespace msrun
