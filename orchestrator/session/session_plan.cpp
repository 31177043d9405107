#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <spdlog/spdlog.h>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/text.h"
#include "orchestrator/plan/call_filter.h"
#include "orchestrator/plan/dealing.h"
#include "orchestrator/session/input.h"
#include "orchestrator/session/last_failed.h"
#include "orchestrator/session/limits.h"
#include "orchestrator/session/session.h"
#include "runner/device/sim/sim.h"
#include "runner/results/reason.h"
#include "runner/workers/probe.h"

namespace msrun {
namespace {

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

void require_device(const ChosenBackend& backend) {
  if (backend.is_accelerator) return;
  const TestedOn kind = tested_on(*backend.row);
  throw UserError("--require-device: there is no NPU or GPU to test, only the " +
                  std::string(kind == TestedOn::recorded    ? "results that were recorded"
                              : kind == TestedOn::simulated ? "simulated device"
                                                            : "host's processor") +
                  "; msrun --list-devices says what is found here.");
}

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

// A pattern with a slip in it would go unnoticed.
void warn_of_fault_without_call(const Plan& plan, const std::string& pattern) {
  const std::vector<PlannedRank>& ranks = plan.ranks();
  const RankedPattern ranked = ranks.empty() ? RankedPattern{{}, pattern} : ranked_pattern(pattern);
  CallNames names;
  for (std::uint32_t task = 0; task < plan.size(); ++task) {
    const std::string name(plan.view().name(task));
    if (matches_call_of_rank(ranked, ranks.empty() ? "" : ranks[plan.view().tasks[task].rank].calls.rank, name)) return;
    names.see(name);
  }
  spdlog::warn("--sim-fault: no call matches {}{}.", shell_quoted(sanitised(pattern)), names.hint(ranked.calls));
}

}  // namespace

void Session::choose_device() {
  const Options& options = state_.options;
  state_.backend = choose_backend(backend_request(options));
  // With "auto" and a driver the recording says which framework has to have the device.
  if (options.require_device && (options.backend != "auto" || accelerator_of_host().empty())) {
    require_device(state_.backend);
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
  heed_origin();
  state_.plan_seconds = steady_seconds() - start;
  if (plan_options.filter_duplicates) log_repeated(state_.plan);
  if (!state_.plan.ranks().empty()) log_ranks(state_.plan);
  for (const std::string& warning : state_.plan.warnings()) spdlog::warn("{}", warning);
  require_device_ids(options, state_.plan);
  require_calls(options, state_.plan);
  for (const std::string& warning : state_.plan.unmet_patterns()) spdlog::warn("{}", warning);
  if (options.last_failed) keep_last_failed(plan_options);
  if (!plan_options.forward_only && !options.forward.empty() && options.backward.empty()) {
    spdlog::warn("No -backward file is given: only the forward of each call is checked.");
  }
  if (plan_options.keep_results) require_recorded_results(options, state_.plan);
  require_device_that_computes();
  warn_if_data_is_missing(options, state_.plan);
  if (options.shard) state_.share = calls_of(*options.shard, state_.plan.view());
  for (const std::string& fault : options.sim_faults) {
    warn_of_fault_without_call(state_.plan, parse_sim_fault(fault).pattern);
  }
  if (state_.plan.ranks().empty() && options.across_ranks != AcrossRanks::calls) {
    spdlog::warn("--across-ranks does nothing: {} is the recording of one rank.", sanitised(recording_of(options)));
  }
  job_.inspect(state_);
}

// The recording and the patterns were found to be right by the plan of all calls that the options leave.
void Session::keep_last_failed(PlanOptions& plan_options) {
  LastFailed last = find_last_failed(state_, plan_options);
  for (const std::string& warning : last.warnings) spdlog::warn("{}", warning);
  spdlog::warn("--last-failed: {}", last.sentence);
  if (last.calls.empty()) {
    state_.share.assign(state_.plan.size(), false);
    code_without_calls_ = last.left > 0 ? exit_fail_on : exit_completed;
    return;
  }
  options_.only = std::move(last.calls);
  plan_options.only = options_.only;
  state_.plan = read_plan(options_, state_.recordings, plan_options);
  require_calls(options_, state_.plan);
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

// What is said on the command line is more than what the recording says.
void Session::heed_origin() {
  const std::string& said = state_.options.recorded_on;
  if (state_.backend.row->heed_origin == nullptr) {
    if (!said.empty()) {
      spdlog::warn("--recorded-on does nothing: the backend {} computes the results itself.", state_.backend.name);
    }
    return;
  }
  RecordingOrigin origin = state_.plan.origin();
  if (!said.empty() && said != origin.device) origin = {said, {}};
  state_.backend.row->heed_origin(origin, state_.backend);
}

// A recording holds one result of each call.
void Session::require_device_that_computes() const {
  const Options& options = state_.options;
  if (!state_.backend.row->needs_results || (options.repeat == 1 && !options.same_on_all)) return;
  throw UserError(std::string(options.same_on_all ? "--same-on-all" : "--repeat") +
                  " needs a device that computes: --backend " + std::string(state_.backend.row->name) +
                  " has one result of each call.");
}

}  // namespace msrun
