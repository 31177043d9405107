#include "orchestrator/supervisor.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <spdlog/spdlog.h>

#include "kernels/base/clock.h"
#include "runner/results/attempts.h"

namespace msrun {
namespace {

// Results are collected at most this often, so that one frame and one write carry many of them.
constexpr double collect_interval = 0.003;
constexpr double tick_interval = 0.1;
// After SIGTERM, calls in flight may go on for this long.
constexpr double terminate_grace = 5;

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

// glibc has a wrapper only since 2.36.
int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0U)); }

// nohup starts programs so: they are to outlive their terminal.
bool is_hangup_ignored() {
  struct sigaction action {};
  return sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (!is_hangup_ignored()) sigaddset(&set, SIGHUP);
  return set;
}

std::string signal_text(int signal_number) {
  const char* name = sigabbrev_np(signal_number);
  return "signal " + std::to_string(signal_number) + (name == nullptr ? "" : " (SIG" + std::string(name) + ")");
}

std::string death_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "killed by " + signal_text(WTERMSIG(wait_status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(wait_status));
}

std::size_t total_threads(const SupervisorOptions& options) {
  std::size_t total = 0;
  for (const std::size_t threads : options.threads) total += threads;
  return total;
}

// Tasks that the queue is not to hold.
std::vector<bool> not_queued(const Plan& plan, const ResultStore& results, const SupervisorOptions& options) {
  std::vector<bool> tasks(plan.size());
  for (std::uint32_t task = 0; task < plan.size(); ++task) tasks[task] = results.is_done(task);
  for (const std::uint32_t task : options.last_and_alone) tasks[task] = true;
  return tasks;
}

}  // namespace

HeldSignals::HeldSignals() {
  const sigset_t handled = handled_signals();
  checked(sigprocmask(SIG_BLOCK, &handled, &before_), "sigprocmask");
}

HeldSignals::~HeldSignals() {
  const sigset_t handled = handled_signals();
  const timespec no_wait{};
  while (sigtimedwait(&handled, nullptr, &no_wait) > 0) {
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

Supervisor::Supervisor(const Plan& plan, const SupervisorOptions& options, ResultStore& results, ProgressView& view)
    : plan_(plan),
      options_(options),
      results_(results),
      view_(view),
      memory_(plan.order(not_queued(plan, results, options), options.stream), total_threads(options),
              options.memory_budget, options.processors),
      queue_(memory_.view()),
      attempts_(plan.size()),
      last_(options.last_and_alone.rbegin(), options.last_and_alone.rend()) {
  std::size_t slot = 0;
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    Runner runner;
    runner.device = options.devices[i];
    runner.first_slot = slot;
    runner.threads = options.threads[i];
    runner.received.resize(runner.threads);
    slot += runner.threads;
    runners_.push_back(std::move(runner));
  }
  work_before_.reserve(queue_.control->task_count + 1);
  work_before_.push_back(0);
  for (std::uint32_t place = 0; place < queue_.control->task_count; ++place) {
    work_before_.push_back(work_before_.back() + static_cast<double>(plan.view().tasks[queue_.order[place]].cost));
  }
}

Supervisor::~Supervisor() {
  kill_runners();
  for (const Runner& runner : runners_) {
    if (runner.notify >= 0) close(runner.notify);
  }
  for (const int descriptor : {epoll_, signals_, timer_, lifeline_read_, lifeline_write_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

RunEnd Supervisor::run() {
  started_ = steady_seconds();
  const HeldSignals held;
  epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  const auto watch = [&](int descriptor, std::uint64_t tag) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag;
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
  };
  // Tags: signals, timer, then for runner i: 2 + 2i its results, 3 + 2i its end.
  const sigset_t handled = handled_signals();
  signals_ = checked(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
  watch(signals_, 0);
  timer_ = checked(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create");
  itimerspec tick{};
  tick.it_interval.tv_nsec = static_cast<long>(tick_interval * 1e9);
  tick.it_value = tick.it_interval;
  checked(timerfd_settime(timer_, 0, &tick, nullptr), "timerfd_settime");
  watch(timer_, 1);
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    runners_[i].notify = checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
    watch(runners_[i].notify, 2 + 2 * i);
  }
  std::array<int, 2> lifeline;
  checked(pipe2(lifeline.data(), O_CLOEXEC), "pipe2");
  lifeline_read_ = lifeline[0];
  lifeline_write_ = lifeline[1];
  record_rule_skips();
  results_.note(start_note());
  note_in_flight();
  results_.commit();
  if (queue_.control->task_count > 0) {
    for (Runner& runner : runners_) start_runner(runner);
  }
  do {
    while (any_running()) handle_events();
    collect();
  } while (start_last());
  results_.note(end_note());
  results_.commit();
  view_.progress(progress_state());
  if (results_.done() == plan_.size()) return RunEnd::complete;
  return interrupts_ > 0 ? RunEnd::interrupted : RunEnd::no_devices;
}

void Supervisor::handle_events() {
  std::array<epoll_event, 32> events;
  double wait = -1;
  if (results_pending_) wait = std::max(0.0, last_collect_ + collect_interval - steady_seconds());
  const int timeout = wait < 0 ? -1 : static_cast<int>(wait * 1000 + 0.999);
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
  if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    std::uint64_t counter = 0;
    if (tag == 0) {
      on_signal();
    } else if (tag == 1) {
      [[maybe_unused]] const ssize_t expirations = read(timer_, &counter, sizeof(counter));
      on_tick();
    } else if (tag % 2 == 0) {
      [[maybe_unused]] const ssize_t notified = read(runners_[(tag - 2) / 2].notify, &counter, sizeof(counter));
      results_pending_ = true;
    } else {
      on_runner_exit(runners_[(tag - 3) / 2]);
    }
  }
  if (results_pending_ && steady_seconds() >= last_collect_ + collect_interval) collect();
}

// A call that needs the host for itself, if there is one and a device to run it.
bool Supervisor::start_last() {
  const auto runner =
      std::find_if(runners_.begin(), runners_.end(), [](const Runner& candidate) { return !candidate.given_up; });
  if (last_.empty() || runner == runners_.end() || queue_.control->stop.load() != 0) return false;
  waiting_alone_.push_back(last_.back());
  last_.pop_back();
  results_.note(in_flight_note({&waiting_alone_.back(), 1}));
  results_.commit();
  start_runner(*runner);
  return true;
}

// The calls that the workers are at, and those that they will take next, before they can have done harm.
void Supervisor::note_in_flight() {
  std::vector<std::uint32_t> tasks;
  for (const WorkerSlot& slot : queue_.slots) {
    const std::uint32_t task = slot.task.load();
    if (task != WorkerSlot::idle && !results_.is_done(task)) tasks.push_back(task);
  }
  if (queue_.control->stop.load() == 0) {
    const std::size_t next = std::min<std::size_t>(queue_.control->cursor.load(), queue_.control->task_count);
    const std::size_t end = std::min<std::size_t>(next + queue_.slots.size(), queue_.control->task_count);
    tasks.insert(tasks.end(), queue_.order + next, queue_.order + end);
  }
  std::sort(tasks.begin(), tasks.end());
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  if (tasks == noted_in_flight_) return;
  results_.note(in_flight_note(tasks));
  noted_in_flight_ = std::move(tasks);
}

double Supervisor::time_limit(std::uint32_t task) const {
  // Costs are estimates for an idle core of today; a busy host or a slow device takes its time.
  constexpr double patience = 50;
  constexpr double least = 300;
  if (options_.task_timeout) return *options_.task_timeout;
  return std::max(least, patience * static_cast<double>(plan_.view().tasks[task].cost) * 1e-9);
}

void Supervisor::start_runner(Runner& runner) {
  for (std::size_t i = 0; i < runner.threads; ++i) {
    queue_.rings[runner.first_slot + i].reset();
    WorkerSlot& slot = queue_.slots[runner.first_slot + i];
    slot.task.store(WorkerSlot::idle);
    slot.fatal_signal.store(0);
    runner.received[i].clear();
  }
  runner.timed_out.clear();
  runner.retries.clear();
  const bool alone = !waiting_alone_.empty();
  if (alone) {
    runner.retries.push_back(waiting_alone_.back());
    waiting_alone_.pop_back();
  } else {
    runner.retries.swap(waiting_retries_);
  }
  // The child must not print again what the parent has buffered.
  std::fflush(nullptr);
  const pid_t supervisor = getpid();
  const pid_t pid = checked(fork(), "fork");
  if (pid == 0) {
    // If the supervisor dies, however, this process dies with it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(0);
    become_runner(runner, alone);
  }
  runner.pid = pid;
  runner.pidfd = checked(open_pidfd(pid), "pidfd_open");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 3 + 2 * static_cast<std::uint64_t>(&runner - runners_.data());
  checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, runner.pidfd, &event), "epoll_ctl");
}

void Supervisor::become_runner(const Runner& runner, bool alone) {
  int code = 0;
  try {
    if (options_.in_child) options_.in_child();
    prctl(PR_SET_NAME, ("msrun-dev" + std::to_string(runner.device)).c_str());
    // Ctrl-C on the terminal and its closing reach the whole process group; what they mean is the supervisor's to say.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    const sigset_t handled = handled_signals();
    sigprocmask(SIG_UNBLOCK, &handled, nullptr);
    RunnerSetup setup;
    setup.plan = plan_.view();
    setup.queue = queue_;
    setup.first_slot = runner.first_slot;
    setup.threads = runner.threads;
    setup.device_id = runner.device;
    setup.notify = runner.notify;
    close(lifeline_write_);
    setup.lifeline = lifeline_read_;
    setup.check = options_.check;
    setup.stream = options_.stream;
    setup.make_device = options_.make_device;
    setup.retries = runner.retries;
    setup.alone = alone;
    run_runner(setup);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "msrun: the runner of device %d ended: %s\n", runner.device, error.what());
    code = 4;
  }
  // Destructors and buffers belong to the parent.
  _exit(code);
}

void Supervisor::drain(Runner& runner) {
  for (std::size_t i = 0; i < runner.threads; ++i) {
    std::string& received = runner.received[i];
    queue_.rings[runner.first_slot + i].drain(received);
    std::size_t consumed = 0;
    std::string_view record;
    while (unframe_record(received, consumed, record)) results_.add(record);
    received.erase(0, consumed);
  }
}

void Supervisor::collect() {
  // Before the rings are read: a result that comes later announces itself again.
  queue_.control->results_waiting.exchange(0);
  for (Runner& runner : runners_) {
    if (runner.pid > 0) drain(runner);
  }
  note_in_flight();
  results_.commit();
  results_pending_ = false;
  last_collect_ = steady_seconds();
}

std::vector<std::uint32_t> Supervisor::unfinished_tasks(const Runner& runner) const {
  std::vector<std::uint32_t> tasks;
  for (std::size_t i = 0; i < runner.threads; ++i) {
    const std::uint32_t task = queue_.slots[runner.first_slot + i].task.load();
    if (task != WorkerSlot::idle && !results_.is_done(task)) tasks.push_back(task);
  }
  return tasks;
}

void Supervisor::on_runner_exit(Runner& runner) {
  int wait_status = 0;
  rusage usage{};
  if (wait4(runner.pid, &wait_status, WNOHANG, &usage) != runner.pid) return;
  runner.peak = std::max(runner.peak, static_cast<std::uint64_t>(usage.ru_maxrss) * 1024);
  epoll_ctl(epoll_, EPOLL_CTL_DEL, runner.pidfd, nullptr);
  close(runner.pidfd);
  drain(runner);
  runner.pid = -1;
  runner.pidfd = -1;
  const std::vector<std::uint32_t> in_flight = unfinished_tasks(runner);
  for (std::size_t i = 0; i < runner.threads; ++i) queue_.release(queue_.slots[runner.first_slot + i]);
  const bool stopping = queue_.control->stop.load() != 0;
  const bool clean = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
  if (!clean && !stopping) {
    blame(runner, in_flight, wait_status);
  }
  // Retries that it was given and did not come to.
  for (const std::uint32_t task : runner.retries) {
    const bool waits = std::find(waiting_alone_.begin(), waiting_alone_.end(), task) != waiting_alone_.end() ||
                       std::find(waiting_retries_.begin(), waiting_retries_.end(), task) != waiting_retries_.end();
    if (!results_.is_done(task) && !waits) waiting_retries_.push_back(task);
  }
  runner.retries.clear();
  results_.commit();
  if (stopping || !work_left()) return;
  // A device that was given up leaves its calls to one that has already finished, if no other is running.
  Runner* next = &runner;
  if (runner.given_up) {
    const auto idle = std::find_if(runners_.begin(), runners_.end(),
                                   [](const Runner& other) { return other.pid < 0 && !other.given_up; });
    if (idle == runners_.end()) return;
    next = &*idle;
  }
  start_runner(*next);
}

void Supervisor::blame(Runner& runner, const std::vector<std::uint32_t>& in_flight, int wait_status) {
  // The thread that caught the signal, or the calls over their time, are to blame; of a process that was killed from
  // outside every call in flight may be.
  std::vector<std::uint32_t> suspects = runner.timed_out;
  for (std::size_t i = 0; suspects.empty() && i < runner.threads; ++i) {
    const WorkerSlot& slot = queue_.slots[runner.first_slot + i];
    if (slot.fatal_signal.load() != 0 && slot.task.load() != WorkerSlot::idle) suspects.push_back(slot.task.load());
  }
  if (suspects.empty()) suspects = in_flight;
  if (in_flight.empty() && ++runner.failures >= options_.max_device_failures) {
    runner.given_up = true;
    spdlog::error("Device {} is given up: its runner {} {} times without working on a call.", runner.device,
                  death_text(wait_status), runner.failures);
  }
  const std::string how =
      runner.timed_out.empty()
          ? death_text(wait_status)
          : "no result within " + std::to_string(static_cast<long>(time_limit(runner.timed_out.front()))) + " s";
  RunnerDied event;
  event.device = runner.device;
  event.reason = how;
  event.retried = true;
  for (const std::uint32_t task : in_flight) {
    event.calls.emplace_back(plan_.view().name(task));
    const bool suspect = std::find(suspects.begin(), suspects.end(), task) != suspects.end();
    if (suspect) ++attempts_[task];
    if (attempts_[task] > options_.retries) {
      record_death(task, runner.device, how);
      event.retried = false;
    } else if (suspect && attempts_[task] == options_.retries) {
      waiting_alone_.push_back(task);
    } else {
      waiting_retries_.push_back(task);
    }
  }
  view_.runner_died(event);
}

void Supervisor::record_death(std::uint32_t task, int device, const std::string& how) {
  ApiResult result =
      skip_result(task, std::string(plan_.view().name(task)),
                  "The runner of device " + std::to_string(device) + " died while running this API: " + how +
                      ", attempt " + std::to_string(attempts_[task]) + ".");
  result.device = device;
  results_.add(result);
}

void Supervisor::on_tick() {
  const double now = steady_seconds();
  // A runner that died at the wrong moment may have left results unannounced.
  if (queue_.control->results_waiting.load() != 0) results_pending_ = true;
  for (Runner& runner : runners_) {
    if (runner.pid < 0 || options_.task_timeout == 0.0 || !runner.timed_out.empty()) continue;
    for (std::size_t i = 0; i < runner.threads; ++i) {
      const WorkerSlot& slot = queue_.slots[runner.first_slot + i];
      const std::uint32_t task = slot.task.load();
      const std::uint64_t since = slot.since.load();
      if (task == WorkerSlot::idle || since == 0) continue;
      const double limit = time_limit(task);
      const double time = now - static_cast<double>(since) * 1e-9;
      if (time > limit) {
        runner.timed_out.push_back(task);
      } else if (time > limit / 2 && std::find(warned_slow_.begin(), warned_slow_.end(), task) == warned_slow_.end()) {
        warned_slow_.push_back(task);
        spdlog::warn("{} has been running for {:.0f} s on device {}; it is ended after {:.0f} s (--task-timeout).",
                     plan_.view().name(task), time, runner.device, limit);
      }
    }
    if (!runner.timed_out.empty()) kill(runner.pid, SIGKILL);
  }
  if (stop_requested_ > 0 && now - stop_requested_ > terminate_grace) kill_runners();
  note_in_flight();
  results_.commit();
  view_.progress(progress_state());
}

void Supervisor::on_signal() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    const bool terminate = info.ssi_signo != SIGINT;
    if (++interrupts_ == 1) {
      request_stop();
      if (terminate) stop_requested_ = steady_seconds();
      spdlog::warn("Stopping: calls that are running are finished first{}.",
                   terminate ? "" : "; press Ctrl-C again to stop at once");
    } else {
      kill_runners();
    }
  }
}

void Supervisor::request_stop() { queue_.control->stop.store(1); }

void Supervisor::kill_runners() {
  if (queue_.control != nullptr) request_stop();
  for (Runner& runner : runners_) {
    if (runner.pid < 0) continue;
    kill(runner.pid, SIGKILL);
    int wait_status = 0;
    while (waitpid(runner.pid, &wait_status, 0) < 0 && errno == EINTR) {
    }
    close(runner.pidfd);
    runner.pid = -1;
    runner.pidfd = -1;
    // What had been sent completely counts; the caller commits it.
    if (epoll_ >= 0) drain(runner);
  }
}

bool Supervisor::any_running() const {
  return std::any_of(runners_.begin(), runners_.end(), [](const Runner& runner) { return runner.pid > 0; });
}

bool Supervisor::work_left() const {
  return !waiting_retries_.empty() || !waiting_alone_.empty() ||
         queue_.control->cursor.load() < queue_.control->task_count;
}

void Supervisor::record_rule_skips() {
  for (std::uint32_t task = 0; task < plan_.size(); ++task) {
    if (results_.is_done(task) || plan_.view().tasks[task].skip_size == 0) continue;
    results_.add(skip_result(task, std::string(plan_.view().name(task)), std::string(plan_.view().skip_reason(task))));
  }
}

std::uint64_t Supervisor::runners_peak() const {
  std::uint64_t total = 0;
  for (const Runner& runner : runners_) total += runner.peak;
  return total;
}

ProgressState Supervisor::progress_state() const {
  ProgressState state;
  state.done = results_.done();
  state.resumed = results_.restored();
  state.total = plan_.size();
  state.elapsed = steady_seconds() - started_;
  state.counts = results_.summary().counts();
  const double now = steady_seconds();
  const std::uint32_t taken = std::min(queue_.control->cursor.load(), queue_.control->task_count);
  state.work_done = work_before_.back() > 0 ? work_before_[taken] / work_before_.back() : -1;
  for (const Runner& runner : runners_) {
    DeviceActivity activity;
    activity.device = runner.device;
    for (std::size_t i = 0; i < runner.threads; ++i) {
      const WorkerSlot& slot = queue_.slots[runner.first_slot + i];
      const std::uint32_t task = slot.task.load();
      if (task == WorkerSlot::idle || runner.pid < 0 || slot.since.load() == 0) continue;
      activity.calls.push_back(
          {std::string(plan_.view().name(task)), now - static_cast<double>(slot.since.load()) * 1e-9});
    }
    state.devices.push_back(std::move(activity));
  }
  return state;
}

}  // namespace msrun
