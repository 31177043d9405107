#include "orchestrator/supervise/supervisor.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "kernels/base/clock.h"
#include "kernels/base/counted.h"
#include "runner/results/attempts.h"

namespace msrun {
namespace {

// Seconds. Results are collected at most this often, so that one frame and one write carry many of them.
constexpr double collect_interval = 0.003;
// Seconds that calls in flight may go on for after SIGTERM.
constexpr double terminate_grace = 5;
// Seconds within which another SIGTERM or SIGHUP belongs to the first: who ends a job tells a process and then its
// group, and a terminal that closes tells it twice.
constexpr double same_request = 1;

std::size_t total_threads(const SupervisorOptions& options) {
  std::size_t total = 0;
  for (const std::size_t threads : options.threads) total += threads;
  return total;
}

template <class T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

Supervisor::Supervisor(const Plan& plan, const SupervisorOptions& options, RunState& run, ResultStore& results,
                       ProgressView& view, Host& host)
    : plan_(plan),
      options_(options),
      run_(run),
      results_(results),
      view_(view),
      total_(complete_results(plan, results, options.share)),
      items_(results.items()),
      memory_(queue_orders(plan, results, options.share, options.last_and_alone, options.stream),
              total_threads(options), options.memory_budget, options.processors),
      control_(*memory_.view().control),
      lanes_(make_lanes(memory_, results, options.retries, options.last_and_alone)),
      time_left_(plan.view(), items_, queues_of(lanes_),
                 std::min<std::size_t>(total_threads(options), options.processors)),
      limits_(options.task_timeout, plan.view(), options.check.repeat, items_),
      host_(host),
      own_time_(steady_seconds()) {
  if (items_.on_all_devices()) note_queued_checks();
  std::size_t slot = 0;
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    Lane& lane = lanes_[items_.on_all_devices() ? i : 0];
    runners_.push_back(
        {RunnerSeat(options.devices[i], lane.queue, slot, options.threads[i]), host.runner(i), &lane, &run.devices[i]});
    slot += options.threads[i];
  }
}

Supervisor::~Supervisor() {
  try {
    kill_runners();
  } catch (const std::exception&) {
    // What a killed runner had sent cannot be taken: its calls run again. The others die with their RunnerProcess.
  }
}

RunEnd Supervisor::run() {
  record_planned_skips();
  if (!std::exchange(run_.has_begun, true)) results_.note(start_note());
  note_in_flight();
  results_.commit();
  for (Runner& runner : runners_) {
    if (runner.lane->work_left() && !runner.device->given_up) start_runner(runner);
  }
  do {
    while (any_running()) handle_events();
    collect();
  } while (start_lost() || start_last());
  results_.note(end_note());
  results_.commit();
  view_.progress(progress_state());
  if (results_.done() == total_) return RunEnd::complete;
  if (interrupts_ > 0) return RunEnd::interrupted;
  if (run_.enough_failures) return RunEnd::enough_failures;
  return withdrawn_ ? RunEnd::withdrawn : RunEnd::no_devices;
}

void Supervisor::handle_events() {
  const double next_collect = last_collect_ + collect_interval;
  const Host::News news = host_.wait(results_pending_ ? std::max(0.0, next_collect - steady_seconds()) : -1);
  for (const int number : news.signals) on_signal(number);
  results_pending_ |= news.results;
  for (const std::size_t place : news.ended) on_runner_end(runners_[place]);
  if (news.tick) on_tick();
  if (results_pending_ && steady_seconds() >= next_collect) collect();
}

void Supervisor::on_signal(int number) {
  const bool terminate = number != SIGINT;
  const double now = steady_seconds();
  if (terminate && terminated_ > 0 && now - terminated_ < same_request) return;
  if (++interrupts_ > 1) return kill_runners();
  request_stop();
  if (terminate) terminated_ = now;
  spdlog::warn("Stopping: calls that are running are finished first{}.",
               terminate ? "" : "; press Ctrl-C again to stop at once");
}

void Supervisor::on_tick() {
  // A runner that died at the wrong moment may have left results unannounced.
  if (control_.results_waiting.load() != 0) results_pending_ = true;
  const double seconds = own_time_.pass(steady_seconds());
  for (Runner& runner : runners_) {
    if (runner.process->running() && runner.ended == Ended::not_by_us) watch_over(runner, seconds);
  }
  if (terminated_ > 0 && steady_seconds() - terminated_ > terminate_grace) kill_runners();
  note_in_flight();
  results_.commit();
  view_.progress(progress_state());
  if (options_.on_tick) options_.on_tick();
  if (!withdrawn_ && options_.may_go_on && !options_.may_go_on()) {
    withdrawn_ = true;
    request_stop();
  }
}

// A runner that shows no sign of life is stopped, whatever it is at; one that does is ended for what it takes too long
// for. Its end is an event of its own.
void Supervisor::watch_over(Runner& runner, double seconds) {
  RunnerClock& clock = runner.clock;
  const bool nothing_left = nothing_left_for(runner);
  clock.pass(seconds, nothing_left);
  const auto end = [&](Ended why, double limit) {
    runner.ended = why;
    runner.limit = limit;
    runner.process->kill();
  };
  const double silence = nothing_left ? limits_.idle() : limits_.silent();
  if (clock.silent() > silence) return end(Ended::stopped_from_outside, silence);
  runner.timed_out = limits_.exceeded(clock, runner.seat.device());
  if (!runner.timed_out.empty()) return end(Ended::call_over_time, limits_.of(runner.timed_out.front()));
  if (clock.starting() > options_.slow_opening && !runner.opening_told) {
    runner.opening_told = true;
    const double limit = limits_.starting();
    spdlog::warn("Device {} has been opened for {:.0f} s and is not ready yet{}.", runner.seat.device(),
                 clock.starting(),
                 std::isinf(limit) ? "" : "; it is ended after " + std::to_string(std::lround(limit)) + " s");
  }
  if (clock.starting() > limits_.starting()) return end(Ended::not_started, limits_.starting());
  if (clock.idle() > limits_.idle()) {
    spdlog::warn("The runner of device {} had nothing left to do and did not end within {:.0f} s; it is ended.",
                 runner.seat.device(), limits_.idle());
    end(Ended::nothing_left, limits_.idle());
  }
}

void Supervisor::on_runner_end(Runner& runner) {
  const std::optional<int> wait_status = runner.process->reap();
  if (!wait_status) return;
  drain(runner);
  results_.commit();  // what it has finished is told before its end is
  const bool stopped = stopping();
  // An exit code of 0 is a death as well, of a call that made its process exit, if not all was done.
  const bool died = *wait_status != 0 || !nothing_left_for(runner);
  if (died && !stopped) blame(runner, unfinished_tasks(runner, true), *wait_status);
  runner.seat.release();
  for (const std::uint32_t item : runner.given) {
    if (!results_.is_item_done(item)) runner.lane->retries.take_back(item);
  }
  runner.given.clear();
  if (died && !stopped) take_back_lost();
  results_.commit();
  stop_after_failures();
  if (!stopping() && runner.lane->work_left()) replace(runner);
}

void Supervisor::replace(Runner& runner) {
  if (!runner.device->given_up) return start_runner(runner);
  // A device that was given up leaves its calls to one that has already finished, if no other is running.
  const auto idle = std::find_if(runners_.begin(), runners_.end(), [&](const Runner& other) {
    return other.lane == runner.lane && !other.process->running() && !other.device->given_up;
  });
  if (idle != runners_.end()) start_runner(*idle);
}

void Supervisor::start_runner(Runner& runner) {
  Retries::Batch batch = runner.lane->retries.next();
  runner.ended = Ended::not_by_us;
  runner.timed_out.clear();
  runner.opening_told = false;
  runner.given = std::move(batch.tasks);
  runner.alone = batch.alone;
  runner.seat.clear();
  runner.process->start(setup_of(runner));
  runner.clock.restart();
}

RunnerSetup Supervisor::setup_of(const Runner& runner) const {
  RunnerSetup setup;
  setup.plan = plan_.view();
  setup.queue = runner.lane->queue;
  setup.items = items_;
  setup.first_slot = runner.seat.first_slot();
  setup.threads = runner.seat.threads();
  setup.device_id = runner.seat.device();
  setup.check = options_.check;
  setup.ranks = options_.ranks;
  setup.stream = options_.stream;
  setup.core_dumps = options_.core_dumps;
  setup.near_device = options_.near_device;
  setup.make_device = options_.make_device;
  setup.retries = runner.given;
  setup.alone = runner.alone;
  return setup;
}

Supervisor::Runner* Supervisor::usable_runner(const Lane& lane) {
  const auto found = std::find_if(runners_.begin(), runners_.end(), [&](const Runner& candidate) {
    return candidate.lane == &lane && !candidate.device->given_up;
  });
  return found == runners_.end() ? nullptr : &*found;
}

// When no runner is left: starts one of each queue for calls that have no result, if there are any and a device to run
// them.
bool Supervisor::start_lost() {
  if (stopping()) return false;
  take_back_lost();
  bool any = false;
  for (const Lane& lane : lanes_) {
    Runner* runner = usable_runner(lane);
    if (!lane.work_left() || runner == nullptr) continue;
    start_runner(*runner);
    any = true;
  }
  return any;
}

// Starts a call that needs the host for itself, if there is one and a device to run it.
bool Supervisor::start_last() {
  if (stopping()) return false;
  for (const std::uint32_t task : options_.last_and_alone) {
    for (Lane& lane : lanes_) {
      Runner* runner = usable_runner(lane);
      if (runner == nullptr || !lane.retries.any_last() || items_.task(lane.retries.next_last()) != task) continue;
      lane.retries.release_last();
      results_.note(in_flight_note({&task, 1}));
      results_.commit();
      start_runner(*runner);
      return true;
    }
  }
  return false;
}

void Supervisor::request_stop() { control_.stop.store(1); }

// Failures of an earlier run do not count: who continues it wants to get further.
void Supervisor::stop_after_failures() {
  if (options_.max_failures == 0 || run_.enough_failures) return;
  const std::uint64_t failures = failures_of(results_.summary().counts()) - run_.earlier_failures;
  if (failures < options_.max_failures) return;
  run_.enough_failures = true;
  const std::string found = counted(failures, "call") + (failures == 1 ? " is" : " are") +
                            " suspicious or failed to run (--max-failures " + std::to_string(options_.max_failures) +
                            ")";
  if (results_.done() == run_.total) {
    spdlog::warn("{}.", found);
    return;
  }
  if (stopping()) return;
  request_stop();
  spdlog::warn("Stopping: {}; calls that have begun are finished first, and may be further ones.", found);
}

bool Supervisor::stopping() const { return control_.stop.load() != 0; }

void Supervisor::kill_runners() {
  request_stop();
  for (Runner& runner : runners_) {
    if (!runner.process->running()) continue;
    runner.process->end_now();
    // What had been sent completely counts; the caller commits it.
    drain(runner);
  }
}

bool Supervisor::any_running() const {
  return std::any_of(runners_.begin(), runners_.end(), [](const Runner& runner) { return runner.process->running(); });
}

bool Supervisor::nothing_left_for(const Runner& runner) const {
  const auto is_done = [&](std::uint32_t item) { return results_.is_item_done(item); };
  const bool queue_is_dry = runner.lane->taken() == runner.lane->queue.lane->size;
  if (!stopping() && !(runner.alone || queue_is_dry)) return false;
  if (!stopping() && !std::all_of(runner.given.begin(), runner.given.end(), is_done)) return false;
  return unfinished_tasks(runner, false).empty();
}

void Supervisor::drain(Runner& runner) {
  runner.seat.drain([&](std::string_view record) {
    results_.add(record);
    runner.device->idle_stops = 0;
  });
  queue_wanted();
}

// Those that the results of an earlier run have shown to be needed.
void Supervisor::note_queued_checks() {
  const auto note = [this](std::span<const std::uint32_t> items) {
    for (const std::uint32_t item : items) {
      if (items_.part(item) >= items_.devices()) queued_checks_.insert(item);
    }
  };
  for (const std::uint32_t task : options_.last_and_alone) note(results_.missing(task));
  for (const Lane& lane : lanes_) note({lane.queue.order, lane.queue.lane->size});
}

// Checks that further devices are to make because devices differ.
void Supervisor::queue_wanted() {
  for (const std::uint32_t item : results_.newly_wanted()) {
    if (queued_checks_.insert(item).second) lanes_[items_.device(item)].retries.take_back(item);
  }
}

void Supervisor::collect() {
  // Before the rings are read: a result that comes later announces itself again.
  control_.results_waiting.exchange(0);
  for (Runner& runner : runners_) {
    if (runner.process->running()) drain(runner);
  }
  note_in_flight();
  results_.commit();
  stop_after_failures();
  results_pending_ = false;
  last_collect_ = steady_seconds();
}

void Supervisor::record_planned_skips() {
  for (std::uint32_t task = 0; task < plan_.size(); ++task) {
    const PlanRecord& record = plan_.view().tasks[task];
    if (!is_shared(options_.share, task) || results_.is_done(task) || record.skip_size == 0) continue;
    ApiResult result =
        skip_result(task, std::string(plan_.view().title(task)), std::string(plan_.view().skip_reason(task)),
                    record.skip_by_rule ? Outcome::skipped_by_rule : Outcome::not_checkable);
    options_.check.dialect->complete_skip(result, !record.lone_backward, record.grad_size > 0);
    results_.add(result);
  }
}

// The calls that the workers are at, and those that they will take next, before they can have done harm.
void Supervisor::note_in_flight() {
  std::vector<std::uint32_t> tasks;
  for (const Runner& runner : runners_) {
    for (const std::uint32_t item : unfinished_tasks(runner, false)) tasks.push_back(items_.task(item));
  }
  for (const Lane& lane : lanes_) {
    if (stopping()) break;
    const std::size_t size = lane.queue.lane->size;
    const std::size_t next = lane.taken();
    const std::size_t end = std::min(next + lane.queue.slots.size(), size);
    for (std::size_t position = next; position < end; ++position)
      tasks.push_back(items_.task(lane.queue.order[position]));
  }
  std::sort(tasks.begin(), tasks.end());
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  if (tasks == noted_in_flight_) return;
  results_.note(in_flight_note(tasks));
  noted_in_flight_ = std::move(tasks);
}

std::uint64_t Supervisor::runners_peak() const {
  std::uint64_t total = 0;
  for (const Runner& runner : runners_) total += runner.process->peak();
  return total;
}

ProgressState Supervisor::progress_state() {
  const double now = steady_seconds();
  ProgressState state;
  state.done = results_.done();
  state.resumed = results_.restored();
  state.total = run_.total;
  state.elapsed = now - run_.started;
  state.counts = results_.summary().counts();
  std::vector<RunnerSeat::Activity> running;
  for (const Runner& runner : runners_) {
    if (!runner.process->running()) {
      state.devices.push_back({runner.seat.device(), {}});
      continue;
    }
    state.devices.push_back(activity_of(runner.seat, plan_.view(), items_, now));
    const std::vector<RunnerSeat::Activity> calls = runner.seat.activities();
    running.insert(running.end(), calls.begin(), calls.end());
  }
  const PhaseTimes& times = results_.times();
  const std::uint64_t spent = times.materialise + times.device + times.benchmark + times.compare;
  state.left = time_left_.next(plan_.view(), running, static_cast<double>(spent) * 1e-9, now);
  state.with_others = options_.with_others;
  return state;
}

}  // namespace msrun
