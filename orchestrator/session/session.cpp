#include "orchestrator/session/session.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
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
#include "orchestrator/plan/dealing.h"
#include "orchestrator/session/dry_run.h"
#include "orchestrator/session/input.h"
#include "orchestrator/session/last_failed.h"
#include "orchestrator/session/limits.h"
#include "orchestrator/session/overflow_job.h"
#include "orchestrator/session/pre_check_job.h"
#include "orchestrator/supervise/signals.h"
#include "orchestrator/view/github_view.h"
#include "runner/device/python/probe.h"
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

BackendRequest backend_request(const Options& options) {
  BackendRequest request;
  request.name = options.backend;
  request.kind = options.backend_kind;
  request.sim_faults = options.sim_faults;
  request.jit_compile = options.jit_compile;
  request.devices = options.devices;
  request.python = options.python;
  request.torch_lanes = options.torch_lanes;
  request.torch_workers = options.torch_workers;
  if (options.seed) request.seed = *options.seed;
  return request;
}

// What stands in the output in place of lines that nobody read in time.
std::string gap_in_events(std::uint64_t lines) {
  return R"({"type":"output_lost","lines":)" + std::to_string(lines) + "}\n";
}
std::string gap_in_text(std::uint64_t lines) {
  return "(" + std::to_string(lines) + " lines are missing here: they were not read in time)\n";
}

void require_device(const ChosenBackend& backend) {
  if (backend.is_accelerator) return;
  const TestedOn kind = tested_on(*backend.row);
  throw UserError("--require-device: there is no NPU or GPU to test, only the " +
                  std::string(kind == TestedOn::recorded    ? "results that were recorded"
                              : kind == TestedOn::simulated ? "simulated device"
                                                            : "host's processor") +
                  "; msrun --list-devices says what is found here.");
}

const std::string& recording_of(const Options& options) {
  return options.api_info.empty() ? options.forward : options.api_info;
}

bool is_part(const Options& options) { return options.shard.has_value() || options.steal; }

std::vector<bool> calls_of(const Shard& shard, const PlanView& plan) {
  const std::vector<std::uint32_t> parts = deal(plan, shard.of);
  std::vector<bool> share(parts.size());
  for (std::size_t task = 0; task < parts.size(); ++task) share[task] = parts[task] + 1 == shard.number;
  return share;
}

// Who stands for whom: the calls that stand for most, the journal has all.
void log_repeated(const Plan& plan) {
  constexpr std::size_t most_shown = 5;
  std::vector<const RepeatedCall*> calls;
  std::size_t left_out = 0;
  for (const RepeatedCall& call : plan.repeated()) {
    calls.push_back(&call);
    left_out += call.left_out.size();
  }
  std::ranges::stable_sort(calls, std::ranges::greater{},
                           [](const RepeatedCall* call) { return call->left_out.size(); });
  std::string text;
  for (std::size_t i = 0; i < std::min(most_shown, calls.size()); ++i) {
    text +=
        (i == 0 ? "; represented by " : ", ") + calls[i]->kept + " (" + std::to_string(calls[i]->left_out.size()) + ")";
  }
  if (calls.size() > most_shown) text += " and " + std::to_string(calls.size() - most_shown) + " other calls";
  spdlog::info("Finish filtering the api in the api_info_file; repeated calls that are left out: {}{}.", left_out,
               text);
}

// How many calls of how many ranks are how much work.
void log_ranks(const Plan& plan) {
  std::uint64_t calls = 0;
  std::uint32_t most = 0;
  for (const PlannedRank& rank : plan.ranks()) {
    calls += rank.calls.size();
    most = std::max(most, static_cast<std::uint32_t>(rank.calls.size()));
  }
  spdlog::info("{} calls of {}, at most {} of one: {} are checked, each once for all ranks that have it.", calls,
               plan.ranks().size() == 1 ? "1 rank" : std::to_string(plan.ranks().size()) + " ranks", most, plan.size());
}

}  // namespace

std::size_t shared_calls(const SessionState& session) {
  if (session.share.empty()) return session.plan.size();
  return static_cast<std::size_t>(std::ranges::count(session.share, true));
}

Session::Session(const Options& options, Job& job)
    : job_(job),
      out_(STDOUT_FILENO, "stdout", is_json(options) ? gap_in_events : gap_in_text),
      err_(STDERR_FILENO, "stderr", gap_in_text),
      console_(is_json(options) ? err_ : out_,
               Paint(wants_colour(options.colour, is_json(options) ? STDERR_FILENO : STDOUT_FILENO)),
               [this] { return out_.is_behind(); }),
      stdout_view_(make_view(options, out_, console_)),
      state_{options, console_, *stdout_view_, {}, {}, {}, {}, steady_seconds()} {}

int Session::run() {
  const Options& options = state_.options;
  setup_logging(console_, options.layout == ReportLayout::current ? LogForm::current : LogForm::att);
  for (const std::string& notice : options.notices) spdlog::warn("{}", notice);
  job_.configure(options);
  state_.backend = choose_backend(backend_request(options));
  // With "auto" and a driver the recording says which framework has to have the device.
  if (options.require_device && (options.backend != "auto" || accelerator_of_host().empty())) {
    require_device(state_.backend);
  }
  make_plan();
  for (const std::string& notice : state_.backend.notices) spdlog::warn("{}", notice);
  if (options.dry_run) {
    const int said = say_what_would_run(state_, out_);
    const HeldSignals held;
    const int code = finish_output(said);
    // As for any list that is nowhere else.
    return out_.lost_lines() > 0 ? exit_usage : code;
  }
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

void Session::make_plan() {
  const Options& options = state_.options;
  state_.recordings = find_recordings(options);
  for (const std::string& notice : state_.recordings.notices) spdlog::info("{}", notice);
  PlanOptions plan_options;
  plan_options.only = options.only;
  plan_options.except = options.except;
  plan_options.framework = options.framework;
  plan_options.upstream_errors = options.compat_msprobe;
  plan_options.keep_results = state_.backend.row->needs_results;
  plan_options.stream_words = options.seed_mode == SeedMode::stream;
  plan_options.across_ranks = options.across_ranks;
  for (const std::string& pattern : options.apart) {
    if (RankedPattern ranked = ranked_pattern(pattern); !ranked.rank.empty()) {
      plan_options.apart.push_back(std::move(ranked));
    }
  }
  job_.select(options, plan_options);
  const double start = steady_seconds();
  if (plan_options.filter_duplicates) spdlog::info("Start filtering the api in the api_info_file.");
  state_.plan = read_plan(options, state_.recordings, plan_options);
  warn_of_framework();
  suit_recording();
  complete_backend();
  prefer_recorded(plan_options);
  state_.plan_seconds = steady_seconds() - start;
  if (plan_options.filter_duplicates) log_repeated(state_.plan);
  if (!state_.plan.ranks().empty()) log_ranks(state_.plan);
  for (const std::string& warning : state_.plan.warnings()) spdlog::warn("{}", warning);
  require_device_ids(options, state_.plan);
  require_calls(options, state_.plan);
  for (const std::string& warning : state_.plan.unmet_patterns()) spdlog::warn("{}", warning);
  if (!plan_options.forward_only && !options.forward.empty() && options.backward.empty()) {
    spdlog::warn("No -backward file is given: only the forward of each call is checked.");
  }
  if (plan_options.keep_results) require_recorded_results(options, state_.plan);
  require_device_that_computes();
  warn_if_data_is_missing(options, state_.plan);
  if (options.shard) state_.share = calls_of(*options.shard, state_.plan.view());
  job_.inspect(state_);
}

// The recording says what it is of; whoever took it for another, or gave options that are for another, is told.
void Session::warn_of_framework() const {
  const Options& options = state_.options;
  const Dialect& dialect = state_.plan.dialect();
  const std::string of_recording =
      sanitised(recording_of(options)) + " is a recording of " + std::string(dialect.spellings().front());
  const Dialect* told = find_dialect(options.framework);
  // "-f mindspore" is how the tool in use is asked for recordings of MindTorch, too.
  if (told != nullptr && told->callable_with().front() != dialect.callable_with().front()) {
    spdlog::warn("-f {} does nothing: {}.", options.framework, of_recording);
  }
  for (const std::string& option : options.given_for_some) {
    if (std::ranges::find(dialect.unheeded_options(), option) == dialect.unheeded_options().end()) continue;
    spdlog::warn("{} does nothing: {}.", option, of_recording);
  }
}

// Functions of one framework are none of another: every call would be SKIP, or another function of the same name.
void Session::suit_recording() {
  const Options& options = state_.options;
  const std::span<const std::string_view> able = state_.plan.dialect().callable_with();
  const std::string_view framework = state_.backend.row->framework;
  if (options.backend == "auto") {
    if (framework != able.front()) {
      BackendRequest request = backend_request(options);
      request.framework = able.front();
      ChosenBackend backend = choose_backend(request);
      if (backend.row != state_.backend.row) state_.backend = std::move(backend);
    }
    if (options.require_device) require_device(state_.backend);
  } else if (!framework.empty() && std::ranges::find(able, framework) == able.end()) {
    throw UserError("--backend " + state_.backend.name + " calls functions of " + std::string(framework) + "; " +
                    recording_of(options) + " is a recording of " +
                    std::string(state_.plan.dialect().spellings().front()) + ", which --backend " +
                    std::string(able.front()) + " runs.");
  }
}

// The user is told of an accelerator that "auto" found and that cannot be used, and the run goes on without.
void Session::complete_backend() {
  if (!state_.backend.complete) return;
  try {
    // What was asked has no more to say after that.
    const auto complete = std::exchange(state_.backend.complete, nullptr);
    complete(state_.backend);
  } catch (const UserError& error) {
    if (state_.options.backend != "auto" || state_.options.require_device) throw;
    spdlog::warn("{}; the run goes on without an NPU or GPU.", error.what());
    BackendRequest request = backend_request(state_.options);
    request.no_accelerator = true;
    state_.backend = choose_backend(request);
  }
}

void Session::prefer_recorded(PlanOptions& plan_options) {
  const Options& options = state_.options;
  if (options.backend != "auto" || state_.backend.row->is_real) return;
  // The files of the older recorder hold no results.
  const auto lacks_data = [](const PlannedRank& rank) { return !rank.real_data && rank.calls.size() > 0; };
  if (!state_.plan.real_data() || !options.forward.empty()) return;
  if (std::ranges::any_of(state_.plan.ranks(), lacks_data)) return;
  BackendRequest request = backend_request(options);
  request.holds_results = true;
  request.no_accelerator = true;
  ChosenBackend backend = choose_backend(request);
  if (!backend.row->needs_results) return;
  PlanOptions with_results = plan_options;
  with_results.keep_results = true;
  Plan plan = read_plan(options, state_.recordings, with_results);
  if (!holds_results(plan)) return;
  plan_options.keep_results = true;
  state_.plan = std::move(plan);
  state_.backend = std::move(backend);
}

// A recording holds one result of each call.
void Session::require_device_that_computes() const {
  const Options& options = state_.options;
  if (!state_.backend.row->needs_results || (options.repeat == 1 && !options.same_on_all)) return;
  throw UserError(std::string(options.same_on_all ? "--same-on-all" : "--repeat") +
                  " needs a device that computes: --backend " + std::string(state_.backend.row->name) +
                  " has one result of each call.");
}

SessionEnd Session::supervise(ResultStore& results) {
  SessionEnd end = run_supervisor(results);
  // What did not reach the journal is lost, and is no part of what is told.
  if (!end.failure.empty()) results.drop_uncommitted();
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
    bool interrupted = false;
    const RunEnd end =
        state_.options.steal ? steal(results, supervision) : supervise_share(results, supervision, interrupted);
    job_.finish();
    return {end, {}};
  } catch (const journal::WriteError& error) {
    return {{}, error.what()};
  } catch (const WriteError& error) {
    return {{}, error.what()};
  } catch (const std::system_error& error) {
    // No process could be started, or no memory or descriptor was left for it.
    return {{}, error.what()};
  } catch (const std::bad_alloc&) {
    return {{}, "Not enough memory to go on; what is finished is kept."};
  }
}

RunEnd Session::supervise_share(ResultStore& results, const SupervisorOptions& supervision, bool& interrupted) {
  Supervisor supervisor(state_.plan, supervision, results, job_.view());
  const RunEnd end = supervisor.run();
  runners_peak_ = std::max(runners_peak_, supervisor.runners_peak());
  interrupted = supervisor.interrupted();
  return end;
}

RunEnd Session::steal(ResultStore& results, SupervisorOptions& supervision) {
  Stealing& stealing = *stealing_;
  // Also where this ends by an error of the system: others need not wait until the lease is silent.
  const std::unique_ptr<Stealing, void (*)(Stealing*)> holder(&stealing, [](Stealing* held) { held->give_back(); });
  stealing.while_idle(supervision.on_tick);
  supervision.may_go_on = [&] { return stealing.may_go_on(); };
  const std::vector<std::uint32_t> last_and_alone = supervision.last_and_alone;
  while (std::optional<std::vector<bool>> share = stealing.next()) {
    supervision.share = *std::move(share);
    supervision.last_and_alone = last_and_alone;
    std::ranges::copy(stealing.suspects(), std::back_inserter(supervision.last_and_alone));
    std::ranges::sort(supervision.last_and_alone);
    const auto repeated = std::unique(supervision.last_and_alone.begin(), supervision.last_and_alone.end());
    supervision.last_and_alone.erase(repeated, supervision.last_and_alone.end());
    std::erase_if(supervision.last_and_alone, [&](std::uint32_t task) {
      return task >= supervision.share.size() || !supervision.share[task] || results.is_done(task);
    });
    bool interrupted = false;
    const RunEnd end = supervise_share(results, supervision, interrupted);
    if (end == RunEnd::complete) {
      job_.make_durable();
      stealing.finish();
    } else if (end != RunEnd::withdrawn) {
      return end;
    }
    if (interrupted) return RunEnd::interrupted;
  }
  return stealing.interrupted() ? RunEnd::interrupted : RunEnd::complete;
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
  RunStarted event;
  event.tested_on = kind;
  event.api_info = recording_of(options);
  event.backend = state_.backend.name;
  event.devices = options.devices;
  for (const std::size_t threads : supervision.threads) event.threads += static_cast<int>(threads);
  event.total = shared_calls(state_);
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
    const bool fails = is_empty() || job_.fails(state_.options.fail_on);
    code = fails ? exit_fail_on : exit_completed;
  } else if (end.failure.empty() && end.end == RunEnd::enough_failures) {
    code = exit_fail_on;
  }
  if (!end.failure.empty()) spdlog::error("{}", end.failure);
  const bool human = !is_json(state_.options);
  job_.tell_end(state_, finished_event(results, end.complete(), code));
  if (human) job_.print_closing(state_, end);
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

int run_session(const Options& given) {
  Options options = given;
  if (options.last_failed) {
    select_last_failed(options);
    if (options.only.empty()) {
      print_text(options.notices.back() + " There is nothing to run.\n");
      return exit_completed;
    }
  }
  std::unique_ptr<Job> job;
  if (options.command == Command::run_overflow_check) {
    job = std::make_unique<OverflowJob>();
  } else {
    job = std::make_unique<PreCheckJob>();
  }
  return Session(options, *job).run();
}

}  // namespace msrun
