// A host in virtual time: the clock, the processes of runners with their threads as fibers, signals and what the
// supervisor waits for. Which of all that could happen next does is drawn from the schedule's seed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/base/clock.h"
#include "orchestrator/supervise/host.h"
#include "runner/shared/queue_steps.h"
#include "runner/worker_loop.h"
#include "tests/simulation/fiber.h"
#include "tests/simulation/random.h"
#include "tests/simulation/schedule.h"

namespace msrun::simulation {

// The supervisor's process has ended, at once and without a word. Not a std::exception, which somebody might handle.
struct SupervisorKilled {};

// What must never be was seen.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Nanoseconds = std::uint64_t;

// What the calls of a run have seen, over all lives of its supervisor.
struct CallHistory {
  std::map<std::uint32_t, std::uint32_t> attempts;  // by item: checks that began
  // In this life: by item, the ends of processes that it may be blamed for, and those that it has crashed; items whose
  // result was sent whole; calls that are to be checked while nothing else is.
  std::map<std::uint32_t, std::uint32_t> deaths;
  std::map<std::uint32_t, std::uint32_t> crashes;
  std::set<std::uint32_t> sent;
  std::set<std::uint32_t> alone;
  std::optional<std::uint32_t> took_host_down;  // the call that did, in this life
};

class World final : public TimeSource, public Host {
 public:
  // One life of a supervisor, from `now` on. In the last one nothing befalls it, and its runners only what calls do.
  // While it is there, all clocks and queues of this program are its. The references outlive it.
  World(const Schedule& schedule, Random& random, CallHistory& history, Nanoseconds now, bool is_last);
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Host.
  std::unique_ptr<RunnerProcess> runner(std::size_t place) override;
  News wait(double seconds) override;

  // TimeSource.
  std::uint64_t steady_nanoseconds() override;
  double unix_seconds() override;
  void pause(std::chrono::nanoseconds duration) override;

  // The supervisor is about to ask something of the host or the disk: it may not come to it, or only to a part.
  bool dies_now();
  [[noreturn]] void die();
  bool is_dead() const { return is_dead_; }
  // From here on the world stands still: no step is taken while the supervisor does what it does.
  void stand_still() { stands_still_ = true; }

  Nanoseconds now() const { return now_; }
  // Throws a Violation that was seen where it could not be thrown.
  void require_order() const;

 private:
  static constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();
  class Process;
  struct Thread;
  class Loop;

  static void on_step(QueueStep step);
  static void on_look();
  void passed_by_worker(QueueStep step);
  void passed_by_supervisor(double probability);
  bool step();
  void open_devices();
  void kill_doomed();
  Nanoseconds next_event() const;
  void end_threads(Process& process);
  void count_death(const Process& process, bool by_supervisor);
  bool has_news() const;
  News take_news();
  void check_admission();
  void violate(const std::string& rule);
  ApiResult checked(const Process& process, std::uint32_t item) const;

  const Schedule& schedule_;
  Random& random_;
  CallHistory& history_;
  Nanoseconds now_;
  bool is_last_;
  bool is_dead_ = false;
  bool stands_still_ = false;
  std::uint64_t steps_ = 0;
  std::string violation_;
  Nanoseconds next_tick_;
  bool results_announced_ = false;
  std::map<Nanoseconds, int> signals_;
  int signals_sent_ = 0;
  std::vector<Process*> processes_;
  Thread* thread_ = nullptr;  // that runs
};

}  // namespace msrun::simulation
