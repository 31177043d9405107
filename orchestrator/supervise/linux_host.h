// The host that is there: runners are forked processes, whose ends, results and signals one epoll waits for.
#pragma once

#include <functional>
#include <string>

#include "orchestrator/supervise/event_loop.h"
#include "orchestrator/supervise/host.h"
#include "orchestrator/supervise/signals.h"

namespace msrun {

// Holds the signals that stop a run back as long as it is there, and tells of them as news. One at a time.
class LinuxHost final : public Host {
 public:
  // in_child: called in every forked child, closes what that must not hold. Throws std::system_error.
  explicit LinuxHost(std::function<void()> in_child = {});

  std::unique_ptr<RunnerProcess> runner(std::size_t place) override;
  News wait(double seconds) override;

 private:
  class Process;

  const HeldSignals held_;
  std::function<void()> in_child_;
  EventLoop loop_;
  UniqueFd signals_;
  UniqueFd timer_;
  Lifeline lifeline_;  // runners watch its reading end
  News news_;
};

}  // namespace msrun
