// One run, from options to exit code, whatever its job: choose the device, plan, open the files, announce, supervise,
// close.
#pragma once

#include <memory>
#include <optional>

#include "orchestrator/command/command_line.h"
#include "orchestrator/session/job.h"
#include "orchestrator/session/stealing.h"
#include "orchestrator/view/output_stream.h"

namespace msrun {

class Session {
 public:
  // The job outlives the session.
  Session(const Options& options, Job& job);

  // Exit code as in kernels/base/exit_code.h. Throws UserError for what the user can mend; then no result was lost, and
  // no file is left that was not there before. Waits some seconds at the end for whoever reads the output; a reader
  // that does not read is not waited for any longer, nor at any other time.
  int run();

 private:
  void choose_device();
  void make_plan();
  // With --last-failed: plans what the last run leaves to check, or makes it a run without calls.
  void keep_last_failed(PlanOptions& plan_options);
  // "auto" without an NPU or GPU: what the recording holds says more than a simulated device. Reads the recording again
  // if it holds results; then the options ask for them.
  void warn_of_framework() const;
  void suit_recording();
  void complete_backend();
  void prefer_recorded(PlanOptions& plan_options);
  void heed_origin();
  void require_device_that_computes() const;
  SessionEnd supervise(ResultStore& results);
  SessionEnd run_supervisor(ResultStore& results);
  // Checks the share, once.
  RunEnd supervise_share(RunState& run, ResultStore& results, const SupervisorOptions& supervision, bool& interrupted);
  // Checks what leases it can get.
  RunEnd steal(RunState& run, ResultStore& results, SupervisorOptions& supervision);
  RunStarted started_event(const SupervisorOptions& supervision) const;
  void announce(const ResultStore& results, const SupervisorOptions& supervision) const;
  // Of a run that has found nothing to check: all that is told of a run, and no files of results.
  int end_without_calls();
  int close_dry_run();
  bool is_empty() const;
  int close(const ResultStore& results, const SessionEnd& end);
  RunFinished finished_event(const ResultStore& results, bool complete, int exit_code) const;
  int finish_output(int code);

  Options options_;  // as they were given, and of --last-failed with the calls that it means
  Job& job_;
  OutputStream out_;
  OutputStream err_;
  Console console_;
  std::unique_ptr<ProgressView> stdout_view_;
  SessionState state_;
  std::optional<Stealing> stealing_;       // with --steal
  std::uint64_t runners_peak_ = 0;         // bytes
  std::optional<int> code_without_calls_;  // nothing is to be checked, and this is the exit code
};

// The session of the job that the command of the options names.
int run_session(const Options& options);

}  // namespace msrun
