#include "orchestrator/supervise/signals.h"

#include <sys/signalfd.h>

#include <csignal>
#include <ctime>

#include "orchestrator/supervise/event_loop.h"

namespace msrun {
namespace {

// nohup starts programs so: they are to outlive their terminal.
bool is_hangup_ignored() {
  struct sigaction action {};
  return sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (!is_hangup_ignored()) sigaddset(&set, SIGHUP);
  return set;
}

HeldSignals::HeldSignals() {
  const sigset_t handled = handled_signals();
  checked(sigprocmask(SIG_BLOCK, &handled, &before_), "sigprocmask");
  held_before_ = sigismember(&before_, SIGINT) == 1 && sigismember(&before_, SIGTERM) == 1;
}

HeldSignals::~HeldSignals() {
  const sigset_t handled = handled_signals();
  const timespec no_wait{};
  while (!held_before_ && sigtimedwait(&handled, nullptr, &no_wait) > 0) {
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

UniqueFd signal_queue() {
  const sigset_t handled = handled_signals();
  return UniqueFd(checked(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd"));
}

std::optional<int> next_signal(int queue) {
  signalfd_siginfo info{};
  if (read(queue, &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace msrun
