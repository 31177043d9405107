#include "orchestrator/session/session.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "journal/error.h"
#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/standard_output.h"
#include "orchestrator/command/sharing_options.h"
#include "orchestrator/session/dry_run.h"
#include "orchestrator/session/input.h"
#include "orchestrator/session/limits.h"
#include "orchestrator/session/overflow_job.h"
#include "orchestrator/session/pre_check_job.h"
#include "orchestrator/supervise/linux_host.h"
#include "orchestrator/supervise/signals.h"
#include "orchestrator/view/github_view.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

bool is_json(const Options& options) { return options.message_format == MessageFormat::json; }

std::unique_ptr<ProgressView> make_view(const Options& options, OutputStream& out, Console& console) {
  switch (options.message_format) {
    case MessageFormat::json:
      return make_json_view(out);
    case MessageFormat::github:
      return make_github_view(console, make_stdout_view(console));
    case MessageFormat::human:
      return make_stdout_view(console);
  }
  return make_stdout_view(console);
}

// What stands in the output in place of lines that nobody read in time.
std::string gap_in_events(std::uint64_t lines) {
  return R"({"type":"output_lost","lines":)" + std::to_string(lines) + "}\n";
}
std::string gap_in_text(std::uint64_t lines) {
  return "(" + std::to_string(lines) + " lines are missing here: they were not read in time)\n";
}

bool is_part(const Options& options) { return options.shard.has_value() || options.steal; }

}  // namespace

std::size_t shared_calls(const SessionState& session) {
  if (session.share.empty()) return session.plan.size();
  return static_cast<std::size_t>(std::ranges::count(session.share, true));
}

Session::Session(const Options& options, Job& job)
    : options_(options),
      job_(job),
      out_(STDOUT_FILENO, "stdout", is_json(options) ? gap_in_events : gap_in_text),
      err_(STDERR_FILENO, "stderr", gap_in_text),
      console_(is_json(options) ? err_ : out_,
               Paint(wants_colour(options.colour, is_json(options) ? STDERR_FILENO : STDOUT_FILENO)),
               [this] { return out_.is_behind(); }),
      stdout_view_(make_view(options, out_, console_)),
      state_{options_, console_, *stdout_view_, {}, {}, {}, {}, steady_seconds()} {}

int Session::run() {
  const Options& options = state_.options;
  setup_logging(console_, options.layout == ReportLayout::current ? LogForm::current : LogForm::att);
  for (const std::string& notice : options.notices) spdlog::warn("{}", notice);
  job_.configure(options);
  state_.quantization_apis = job_.quantization_apis();
  choose_device();
  make_plan();
  for (const std::string& notice : state_.backend.notices) spdlog::warn("{}", notice);
  if (options.dry_run) return close_dry_run();
  if (code_without_calls_) return end_without_calls();
  job_.choose_files(state_);
  // Before the files of a fresh run: where no lease can be had, none is left behind. Behind those of an earlier one:
  // where that is another run, no leases are.
  const bool is_fresh = options.csv_path.empty();
  if (options.steal && is_fresh) stealing_.emplace(state_);
  const HeldSignals held;
  ResultStore& results = job_.open(state_);
  if (options.steal && !is_fresh) stealing_.emplace(state_);
  const SessionEnd end = supervise(results);
  try {
    return finish_output(close(results, end));
  } catch (const std::bad_alloc&) {
    spdlog::error("Not enough memory to say how the run ended; what is finished is kept.");
    return exit_incomplete;
  }
}

int Session::close_dry_run() {
  job_.check_files(state_);
  const int said = say_what_would_run(state_, out_);
  const HeldSignals held;
  const int code = finish_output(code_without_calls_.value_or(said));
  // As for any list that is nowhere else.
  return out_.lost_lines() > 0 ? exit_usage : code;
}

int Session::end_without_calls() {
  job_.choose_files(state_);
  const HeldSignals held;
  RunFinished finished;
  finished.complete = true;
  finished.exit_code = *code_without_calls_;
  try {
    job_.finish_without_calls();
  } catch (const WriteError& error) {
    spdlog::error("{}", error.what());
    finished.complete = false;
    finished.exit_code = exit_incomplete;
  }
  stdout_view_->run_started(started_event(supervisor_options(state_)));
  finished.elapsed = steady_seconds() - state_.started;
  finished.costs.plan_seconds = state_.plan_seconds;
  stdout_view_->run_finished(finished);
  return finish_output(finished.exit_code);
}

SessionEnd Session::supervise(ResultStore& results) {
  SessionEnd end = run_supervisor(results);
  if (end.failure.empty()) return end;
  // What did not reach the journal is lost, and is no part of what is told.
  results.drop_uncommitted();
  try {
    job_.finish_after_failure(end.failure);
  } catch (const WriteError& error) {
    spdlog::error("{}", error.what());
  } catch (const std::bad_alloc&) {
    spdlog::error("Not enough memory to tell in files what was found; what is finished is kept.");
  }
  return end;
}

SessionEnd Session::run_supervisor(ResultStore& results) {
  try {
    SupervisorOptions supervision = supervisor_options(state_);
    supervision.on_tick = [this] {
      out_.drain();
      err_.drain();
    };
    job_.instruct(state_, supervision);
    announce(results, supervision);
    RunState run(state_.plan, supervision, results);
    bool interrupted = false;
    const RunEnd end = state_.options.steal ? steal(run, results, supervision)
                                            : supervise_share(run, results, supervision, interrupted);
    job_.finish(end == RunEnd::complete);
    return {end, run.enough_failures, {}};
  } catch (const journal::WriteError& error) {
    return {.failure = error.what()};
  } catch (const WriteError& error) {
    return {.failure = error.what()};
  } catch (const std::system_error& error) {
    // No process could be started, or no memory or descriptor was left for it.
    return {.failure = error.what()};
  } catch (const std::bad_alloc&) {
    return {.failure = "Not enough memory to go on; what is finished is kept."};
  }
}

RunEnd Session::supervise_share(RunState& run, ResultStore& results, const SupervisorOptions& supervision,
                                bool& interrupted) {
  LinuxHost host([this] { job_.leave_in_child(); });
  Supervisor supervisor(state_.plan, supervision, run, results, job_.view(), host);
  const RunEnd end = supervisor.run();
  runners_peak_ = std::max(runners_peak_, supervisor.runners_peak());
  interrupted = supervisor.interrupted();
  return end;
}

RunEnd Session::steal(RunState& run, ResultStore& results, SupervisorOptions& supervision) {
  Stealing& stealing = *stealing_;
  // Also where this ends by an error of the system: others need not wait until the lease is silent.
  const std::unique_ptr<Stealing, void (*)(Stealing*)> holder(&stealing, [](Stealing* held) { held->give_back(); });
  stealing.while_idle(supervision.on_tick);
  stealing.keep_open(job_.own_journal());
  supervision.may_go_on = [&] { return stealing.may_go_on(); };
  supervision.with_others = true;
  const std::vector<std::uint32_t> last_and_alone = supervision.last_and_alone;
  while (std::optional<std::vector<bool>> share = stealing.next()) {
    supervision.share = *std::move(share);
    supervision.last_and_alone = stealing.suspects();
    std::ranges::copy_if(last_and_alone, std::back_inserter(supervision.last_and_alone), [&](std::uint32_t task) {
      return std::ranges::find(stealing.suspects(), task) == stealing.suspects().end();
    });
    std::erase_if(supervision.last_and_alone, [&](std::uint32_t task) {
      return task >= supervision.share.size() || !supervision.share[task] || results.is_done(task);
    });
    bool interrupted = false;
    const RunEnd end = supervise_share(run, results, supervision, interrupted);
    if (end == RunEnd::complete) {
      job_.make_durable();
      stealing.finish();
    } else if (end != RunEnd::withdrawn) {
      return end;
    }
    if (interrupted) return RunEnd::interrupted;
    // The last call of the lease may have been the last of so many.
    if (run.enough_failures && !stealing.all_done()) return RunEnd::enough_failures;
  }
  return stealing.interrupted() ? RunEnd::interrupted : RunEnd::complete;
}

RunStarted Session::started_event(const SupervisorOptions& supervision) const {
  RunStarted event;
  event.tested_on = tested_on(*state_.backend.row);
  event.api_info = recording_of(state_.options);
  event.backend = state_.backend.name;
  event.devices = state_.options.devices;
  for (const std::size_t threads : supervision.threads) event.threads += static_cast<int>(threads);
  event.total = shared_calls(state_);
  return event;
}

void Session::announce(const ResultStore& results, const SupervisorOptions& supervision) const {
  const Options& options = state_.options;
  const Backend& backend = *state_.backend.row;
  spdlog::info("start {}", job_.title());
  const TestedOn kind = tested_on(backend);
  if (kind == TestedOn::simulated) {
    spdlog::warn("Device under test: {} ({}).", backend.name, simulated_notice);
  } else if (options.backend == "auto" && kind == TestedOn::recorded) {
    spdlog::info("Device under test: {} (there is no NPU or GPU, and the dump holds what was computed).", backend.name);
  } else {
    spdlog::info(
        "Device under test: {}{}.", state_.backend.name,
        backend.is_real && !state_.backend.is_accelerator ? " (the host's processor; no NPU or GPU is tested)" : "");
  }
  RunStarted event = started_event(supervision);
  event.resumed = results.restored();
  if (options.shard) {
    spdlog::warn("Only {} is checked here: {} of {} calls; msrun merge puts the parts together.", part_text(options),
                 event.total, state_.plan.size());
  }
  job_.announce(event);
  if (event.resumed > 0) spdlog::info("{} of {} calls were finished by the earlier run.", event.resumed, event.total);
  job_.view().run_started(event);
}

RunFinished Session::finished_event(const ResultStore& results, bool complete, int exit_code) const {
  RunFinished event;
  event.complete = complete;
  event.exit_code = exit_code;
  event.elapsed = steady_seconds() - state_.started;
  event.done = results.done();
  event.total = complete && state_.options.steal ? results.done() : shared_calls(state_);
  event.counts = results.summary().counts();
  event.blamed_devices = results.summary().blamed_devices();
  event.ranks = results.counts_by_rank();
  event.costs.plan_seconds = state_.plan_seconds;
  event.costs.phases = results.times();
  event.costs.journal_time = results.journal_time();
  event.costs.csv_time = results.csv_time();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  event.costs.supervisor_peak = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  event.costs.runners_peak = runners_peak_;
  if (!complete) event.resume_command = job_.resume_command(state_);
  return event;
}

// A part may well have no call that is checked.
bool Session::is_empty() const { return job_.checked() == 0 && !is_part(state_.options); }

int Session::close(const ResultStore& results, const SessionEnd& end) {
  int code = exit_incomplete;
  if (end.complete()) {
    const bool fails = is_empty() || end.enough_failures || job_.fails(state_.options.fail_on);
    code = fails ? exit_fail_on : exit_completed;
  } else if (end.failure.empty() && end.end == RunEnd::enough_failures) {
    code = exit_fail_on;
  }
  if (!end.failure.empty()) spdlog::error("{}", end.failure);
  const bool human = !is_json(state_.options);
  job_.tell_end(state_, finished_event(results, end.complete(), code));
  job_.print_closing(state_, end);
  if (!human && end.complete() && is_empty()) spdlog::error("Nothing was checked.");
  if (end.failure.empty() && end.end == RunEnd::no_devices) {
    spdlog::error("{}", state_.options.same_on_all ? "A device was given up, and --same-on-all needs every one."
                                                   : "No device is left to run on.");
  }
  if (human && !end.complete()) job_.print_incomplete(state_);
  return code;
}

// To be called while the signals are held back: one of them ends the waiting.
int Session::finish_output(int code) {
  // Seconds without a byte read. Whoever has stopped the run does not wait long for its end.
  const double patience = code == exit_incomplete ? 1 : 5;
  UniqueFd signals;
  try {
    signals = signal_queue();
  } catch (const std::system_error&) {
    // Without a descriptor for them signals are only seen after the patience.
  }
  out_.finish(patience, signals.get());
  if (const std::string problem = out_.problem(); !problem.empty()) err_ << "msrun: " << problem << '\n' << std::flush;
  if (out_.lost_lines() > 0 && job_.prints_results() && code == exit_completed) {
    err_ << "msrun: results that were to be printed are lost: start the run again, with -o DIR to have them in a file\n"
         << std::flush;
    code = exit_incomplete;
  }
  err_.finish(1, signals.get());
  return code;
}

int run_session(const Options& options) {
  std::unique_ptr<Job> job;
  if (options.command == Command::run_overflow_check) {
    job = std::make_unique<OverflowJob>();
  } else {
    job = std::make_unique<PreCheckJob>();
  }
  return Session(options, *job).run();
}

}  // namespace msrun
