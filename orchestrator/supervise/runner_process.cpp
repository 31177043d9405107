#include "orchestrator/supervise/runner_process.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "kernels/base/processes.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "orchestrator/supervise/event_loop.h"
#include "orchestrator/supervise/signals.h"
#include "runner/runner.h"

namespace msrun {
namespace {

// glibc has a wrapper only since 2.36.
int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0U)); }

[[noreturn]] void live_as_child(int device, pid_t supervisor, const std::function<void()>& body) {
  end_with_parent(supervisor, SIGKILL);
  int code = 0;
  try {
    // By its SIGABRT the supervisor learns which call to blame.
    std::set_terminate(std::abort);
    prctl(PR_SET_NAME, ("msrun-dev" + std::to_string(device)).c_str());
    const sigset_t handled = handled_signals();
    // Ctrl-C on the terminal, its closing and whoever ends a job reach all processes of it; what that means is the
    // supervisor's to say.
    for (const int number : {SIGINT, SIGHUP, SIGTERM}) std::signal(number, SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &handled, nullptr);
    unblock_standard_output();
    body();
  } catch (const std::exception& error) {
    write_error_line("msrun: the runner of device " + std::to_string(device) + " ended: " + sanitised(error.what()));
    code = 4;
  }
  // Destructors and buffers belong to the parent.
  _exit(code);
}

}  // namespace

RunnerProcess::RunnerProcess(int device, SharedQueue queue, std::size_t first_slot, std::size_t threads)
    : device_(device),
      queue_(queue),
      first_slot_(first_slot),
      threads_(threads),
      results_(make_counter()),
      received_(threads) {}

RunnerProcess::~RunnerProcess() { end_now(); }

RunnerProcess::RunnerProcess(RunnerProcess&& other) noexcept
    : device_(other.device_),
      queue_(other.queue_),
      first_slot_(other.first_slot_),
      threads_(other.threads_),
      pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      results_(std::move(other.results_)),
      received_(std::move(other.received_)),
      peak_(other.peak_) {}

void RunnerProcess::start(const std::function<void()>& body) {
  for (std::size_t i = 0; i < threads_; ++i) {
    queue_.rings[first_slot_ + i].reset();
    WorkerSlot& slot = queue_.slots[first_slot_ + i];
    slot.task.store(WorkerSlot::idle);
    slot.since.store(0);
    slot.fatal_signal.store(0);
    slot.ready.store(0);
    slot.kept.store(0);
    slot.last_words.front() = 0;
    received_[i].clear();
  }
  // The child must not print again what the parent has buffered.
  std::fflush(nullptr);
  const pid_t supervisor = getpid();
  const pid_t pid = checked(fork(), "fork");
  if (pid == 0) live_as_child(device_, supervisor, body);
  pid_ = pid;
  pidfd_.reset(checked(open_pidfd(pid), "pidfd_open"));
}

void RunnerProcess::drain(const std::function<void(std::string_view record)>& take) {
  for (std::size_t i = 0; i < threads_; ++i) {
    std::string& received = received_[i];
    queue_.rings[first_slot_ + i].drain(received);
    std::size_t consumed = 0;
    std::string_view record;
    while (unframe_record(received, consumed, record)) take(record);
    received.erase(0, consumed);
  }
}

std::vector<RunnerProcess::Activity> RunnerProcess::activities() const {
  std::vector<Activity> activities;
  std::uint32_t next = 0;
  for (const WorkerSlot& slot : slots()) {
    const std::uint32_t thread = next++;
    const std::uint32_t task = slot.task.load();
    if (task == WorkerSlot::idle) continue;
    activities.push_back({task, thread, static_cast<double>(slot.since.load()) * 1e-9, slot.fatal_signal.load() != 0});
  }
  return activities;
}

std::string RunnerProcess::last_words() const {
  for (const WorkerSlot& slot : slots()) {
    const std::string_view words(slot.last_words.data(), slot.last_words.size() - 1);
    if (words.front() != 0) return std::string(words.substr(0, words.find('\0')));
  }
  return {};
}

void RunnerProcess::kill() const {
  if (running()) ::kill(pid_, SIGKILL);
}

std::optional<int> RunnerProcess::reap() {
  if (!running()) return std::nullopt;
  rusage usage{};
  const std::optional<int> wait_status = end_of(pid_, &usage);
  if (!wait_status) return std::nullopt;
  peak_ = std::max(peak_, static_cast<std::uint64_t>(usage.ru_maxrss) * 1024);
  pid_ = -1;
  return wait_status;
}

void RunnerProcess::end_now() {
  if (!running()) return;
  kill();
  await_end(pid_);
  pid_ = -1;
}

void RunnerProcess::release_slots() const {
  for (WorkerSlot& slot : queue_.slots.subspan(first_slot_, threads_)) queue_.release(slot);
}

}  // namespace msrun
