// What a supervisor asks of its host: to wait for what happens, and the processes of its runners. A simulation stands
// behind the same interface and replays any order of events from a seed (tests/simulation).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runner/runner.h"

namespace msrun {

// The process of one runner, and the next one when that has ended. Passive: when it is started, killed and reaped, and
// why, is for others to say.
class RunnerProcess {
 public:
  // A process that still runs ends with this.
  virtual ~RunnerProcess() = default;

  // Starts a process that does run_runner(setup). Its end is news of the host from here on until it is reaped. Not
  // while a process runs. Throws std::system_error.
  virtual void start(const RunnerSetup& setup) = 0;
  virtual bool running() const = 0;
  virtual void kill() = 0;
  // The wait status of a process that has ended by itself or by kill(), as of a killed one if it cannot be had; nothing
  // while it runs.
  virtual std::optional<int> reap() = 0;
  // Kills a process that runs, and waits for its end.
  virtual void end_now() = 0;
  // Resident bytes of the largest of the processes that were reaped by reap().
  virtual std::uint64_t peak() const = 0;
};

class Host {
 public:
  virtual ~Host() = default;

  // That of the device that has this place among the run's. The host outlives it.
  virtual std::unique_ptr<RunnerProcess> runner(std::size_t place) = 0;

  struct News {
    std::vector<int> signals;        // which are to stop the run, in the order in which they came
    bool results = false;            // a runner has announced results
    std::vector<std::size_t> ended;  // places of runners whose process has ended
    bool tick = false;               // a tenth of a second has passed since the last one, or more
  };
  // Waits for news, at most so many seconds (negative: as long as it takes). Signals come even while nobody waits.
  virtual News wait(double seconds) = 0;
};

}  // namespace msrun
