#include "orchestrator/supervise/forked_runner.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "kernels/base/processes.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "orchestrator/supervise/event_loop.h"
#include "orchestrator/supervise/signals.h"

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

ForkedRunner::~ForkedRunner() { end_now(); }

void ForkedRunner::start(int device, const std::function<void()>& body) {
  // The child must not print again what the parent has buffered.
  std::fflush(nullptr);
  const pid_t supervisor = getpid();
  const pid_t pid = checked(fork(), "fork");
  if (pid == 0) live_as_child(device, supervisor, body);
  pid_ = pid;
  pidfd_.reset(checked(open_pidfd(pid), "pidfd_open"));
}

void ForkedRunner::kill() const {
  if (running()) ::kill(pid_, SIGKILL);
}

std::optional<int> ForkedRunner::reap() {
  if (!running()) return std::nullopt;
  rusage usage{};
  const std::optional<int> wait_status = end_of(pid_, &usage);
  if (!wait_status) return std::nullopt;
  peak_ = std::max(peak_, static_cast<std::uint64_t>(usage.ru_maxrss) * 1024);
  pid_ = -1;
  return wait_status;
}

void ForkedRunner::end_now() {
  if (!running()) return;
  kill();
  await_end(pid_);
  pid_ = -1;
}

}  // namespace msrun
