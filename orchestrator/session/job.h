// What a session does with the calls of a recording: which of them it plans, what is checked in each, what the results
// are written to and how they are judged. What all jobs have in common is in session.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/command/command_line.h"
#include "orchestrator/output/results.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/session/input.h"
#include "orchestrator/supervise/supervisor.h"
#include "orchestrator/view/progress_view.h"
#include "runner/device/backends/backends.h"
#include "runner/results/attempts.h"

namespace msrun {

// What a session knows; its jobs read it.
struct SessionState {
  const Options& options;
  Console& console;
  ProgressView& stdout_view;
  ChosenBackend backend;
  Recordings recordings;
  Plan plan;
  std::vector<bool> share = {};  // by call, whether this process checks it; empty: all, or what leases it gets
  double started = 0;            // steady seconds
  double plan_seconds = 0;       // that planning took
  std::vector<std::string> quantization_apis = {};  // Job::quantization_apis()
};

// How many calls are this process's to check; with --steal as many as there are.
std::size_t shared_calls(const SessionState& session);

// The journal that a session writes.
struct OwnJournal {
  std::string path;        // empty: it writes none
  AttemptHistory earlier;  // what the runs were at that it continues
};

// How a session ended.
struct SessionEnd {
  RunEnd end = RunEnd::no_devices;
  // So many calls are failures as --max-failures says, which may be known only when the run is complete.
  bool enough_failures = false;
  // Why it was stopped early by an error of the system, a full disk for example; then end says nothing.
  std::string failure{};

  bool complete() const { return failure.empty() && end == RunEnd::complete; }
};

// One job of one session. The session calls these in the order in which they are declared; the state outlives the job's
// use of it. UserError ends the session with exit code 2.
class Job {
 public:
  virtual ~Job() = default;
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // "acc_check test": what the log says is started.
  virtual const char* title() const = 0;

  // Reads what the user gave beside the recording.
  virtual void configure(const Options& /*options*/) {}
  // The APIs whose integer outputs may differ by one, as what was given beside the recording has it.
  virtual std::vector<std::string> quantization_apis() const { return {}; }
  // Which calls are planned, and what is kept of them.
  virtual void select(const Options& options, PlanOptions& plan_options) const = 0;
  // Says in the log what is odd about the plan.
  virtual void inspect(const SessionState& /*session*/) const {}
  // In place of all that follows, where nothing is to be run: throws what choose_files() would, and makes nothing.
  virtual void check_files(const SessionState& session) const = 0;
  // Chooses the files for the results and makes their directory. Nothing of them is written yet.
  virtual void choose_files(const SessionState& session) = 0;
  // In place of all that follows, for a run that has found no call to check: what is told in files of a run is told of
  // this one as well. Throws WriteError.
  virtual void finish_without_calls() {}
  // Creates or reopens the files. Signals are held back from here on. The results live as long as the job.
  virtual ResultStore& open(const SessionState& session) = 0;
  // After open().
  virtual OwnJournal own_journal() const { return {}; }
  // Who is told of results and progress. After open().
  virtual ProgressView& view() = 0;
  // What is checked in each call, and in which order. May bring the files of an earlier run up to date.
  virtual void instruct(const SessionState& session, SupervisorOptions& supervision) = 0;
  // In every forked runner: closes what that must not hold.
  virtual void leave_in_child() {}
  // Everything that has been found so far reaches the storage device.
  virtual void make_durable() {}
  // Says in the log where the results will be, and to the event.
  virtual void announce(RunStarted& event) const = 0;
  // Commits the results of this session and completes the files; complete: nothing was left to check.
  virtual void finish(bool complete) = 0;
  // In place of it where an error of the system, which the text says, has stopped the session: what can be told in
  // files of a run is told of what was committed. Throws WriteError.
  virtual void finish_after_failure(const std::string& failure) = 0;
  // Calls that were checked; if there are none, a complete run is no success, unless it is only a part of one.
  virtual std::uint64_t checked() const = 0;
  // Whether --fail-on asks for exit code 1.
  virtual bool fails(FailOn level) const = 0;
  // The command that continues an incomplete run; empty if there is none.
  virtual std::string resume_command(const SessionState& /*session*/) const { return {}; }
  // Whether results are nowhere but in what is printed.
  virtual bool prints_results() const { return false; }
  // Tells the view.
  virtual void tell_end(const SessionState& /*session*/, const RunFinished& event) { view().run_finished(event); }
  // The closing lines for a human reader; where events are printed, what they do not say.
  virtual void print_closing(const SessionState& session, const SessionEnd& end) = 0;
  // What a human reader can do about a run that is not complete.
  virtual void print_incomplete(const SessionState& session) const = 0;
};

}  // namespace msrun
