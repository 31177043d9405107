// One run from its first supervisor to the one that completes it, in virtual time, and what must hold of it: it ends,
// every call has the result that it ought to have, nothing that was told is lost, and nobody is blamed for nothing.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "orchestrator/plan/plan.h"
#include "orchestrator/supervise/supervisor.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/schedule.h"
#include "tests/simulation/world.h"

namespace msrun::simulation {

// What has happened in a run, so that a test can see that its schedules reach what they are for.
struct Seen {
  std::uint64_t lives = 0;
  std::uint64_t runner_deaths = 0;
  std::uint64_t supervisor_deaths = 0;
  std::uint64_t hosts_taken_down = 0;  // by a call
  std::uint64_t power_losses = 0;
  std::uint64_t full_disks = 0;
  std::uint64_t interrupted = 0;
  std::uint64_t devices_given_up = 0;
  std::uint64_t enough_failures = 0;
  std::uint64_t skipped_calls = 0;
  std::uint64_t checks = 0;  // of calls or their parts, begun
};

class SimulatedRun {
 public:
  // The plan, whose calls are those of a run, outlives this.
  SimulatedRun(const Plan& plan, std::uint64_t seed);

  // Throws Violation.
  void run();

  const Schedule& schedule() const { return schedule_; }
  const Seen& seen() const { return seen_; }

 private:
  class View;

  enum class LifeEnd : std::uint8_t { complete, incomplete };

  LifeEnd live(bool is_last);
  LifeEnd supervise(World& world, bool is_last);
  SupervisorOptions options(bool is_last) const;
  void judge_journal(bool lost_power);
  void judge_result(const ApiResult& result) const;
  void judge_host_taken_down();

  const Plan& plan_;
  Schedule schedule_;
  Random random_;
  CallHistory history_;
  Disk disk_;
  Nanoseconds now_ = 1'000'000'000;
  std::set<std::uint32_t> told_;      // calls whose result was told, and so is never lost
  std::set<std::uint32_t> may_fail_;  // calls that were in flight so often when processes died that they may be SKIP
  std::uint32_t taken_down_ = 0;      // times that a call has taken the host down
  Seen seen_;
};

}  // namespace msrun::simulation
