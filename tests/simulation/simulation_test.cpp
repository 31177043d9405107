// The supervisor in a simulated world: as many schedules of deaths, stops, signals and full disks as there is time for,
// each from a seed that replays it. MSRUN_SIMULATED=first:count runs others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <spdlog/spdlog.h>

#include "orchestrator/plan/call_filter.h"
#include "tests/simulation/simulated_run.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::simulation {
namespace {

// Calls of sizes that fall, so that the first one is the first in the queue.
Plan plan_of(std::size_t calls) {
  const testing::TemporaryDirectory scratch;
  std::string data;
  for (std::size_t i = 0; i < calls; ++i) {
    data += (i == 0 ? "" : ",") + std::string(R"("Functional.relu.)") + std::to_string(i) +
            R"(.forward":{"input_args":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[)" +
            std::to_string(2 * calls - i) + R"(,8],"Max":1,"Min":0,"Mean":0.5,"Norm":1,"requires_grad":true}],)" +
            R"("input_kwargs":{},"output":[]})";
  }
  PlanOptions everything;
  everything.refusal = [](const Dialect& /*dialect*/, const std::string& /*name*/) { return Refusal{}; };
  return Plan::read(
      scratch.write("dump.json",
                    R"({"framework":"pytorch","task":"statistics","dump_data_dir":null,"data":{)" + data + "}}"),
      everything);
}

const Plan& plan_for(std::uint64_t seed) {
  static const std::vector<Plan> plans = [] {
    std::vector<Plan> all;
    for (const std::size_t calls : {1, 2, 5, 12, 30}) all.push_back(plan_of(calls));
    return all;
  }();
  return plans[seed % plans.size()];
}

void add(Seen& sum, const Seen& seen) {
  sum.lives += seen.lives;
  sum.runner_deaths += seen.runner_deaths;
  sum.supervisor_deaths += seen.supervisor_deaths;
  sum.hosts_taken_down += seen.hosts_taken_down;
  sum.power_losses += seen.power_losses;
  sum.full_disks += seen.full_disks;
  sum.interrupted += seen.interrupted;
  sum.devices_given_up += seen.devices_given_up;
  sum.enough_failures += seen.enough_failures;
  sum.skipped_calls += seen.skipped_calls;
  sum.checks += seen.checks;
}

void print(std::uint64_t count, const Seen& seen) {
  std::cout << count << " runs: " << seen.lives << " supervisors, of which " << seen.supervisor_deaths
            << " were killed, " << seen.power_losses << " with the host, " << seen.hosts_taken_down << " by a call, "
            << seen.interrupted << " stopped, " << seen.full_disks << " found their disk full and "
            << seen.enough_failures << " enough failures; " << seen.runner_deaths << " runners died, "
            << seen.devices_given_up << " devices were given up, " << seen.checks << " checks began, "
            << seen.skipped_calls << " calls were skipped\n";
}

Seen simulate(std::uint64_t first, std::uint64_t count) {
  spdlog::set_level(spdlog::level::off);
  Seen sum;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SimulatedRun run(plan_for(seed), seed);
    try {
      run.run();
    } catch (const Violation& violation) {
      ADD_FAILURE() << violation.what() << "\n" << run.schedule().text();
    }
    add(sum, run.seen());
  }
  spdlog::set_level(spdlog::level::info);
  return sum;
}

constexpr std::uint64_t parts = 8;
constexpr std::uint64_t seeds_of_a_part = 12'500;

class Simulation : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Simulation, OfEverySchedule) {
  const Seen seen = simulate(GetParam() * seeds_of_a_part, seeds_of_a_part);
  print(seeds_of_a_part, seen);
  // The schedules reach what they are for.
  EXPECT_GT(seen.runner_deaths, seeds_of_a_part);
  EXPECT_GT(seen.supervisor_deaths, seeds_of_a_part / 10);
  EXPECT_GT(seen.power_losses, seeds_of_a_part / 100);
  EXPECT_GT(seen.interrupted, seeds_of_a_part / 100);
  EXPECT_GT(seen.full_disks, seeds_of_a_part / 100);
  EXPECT_GT(seen.devices_given_up, seeds_of_a_part / 100);
  EXPECT_GT(seen.hosts_taken_down, seeds_of_a_part / 100);
  EXPECT_GT(seen.enough_failures, seeds_of_a_part / 1000);
}

INSTANTIATE_TEST_SUITE_P(Parts, Simulation, ::testing::Range(std::uint64_t{0}, parts));

// A line of once_failed.txt: "14716 what was wrong".
TEST(SimulationOf, SchedulesThatOnceFailed) {
  std::ifstream lines(testing::source_root() + "/tests/simulation/once_failed.txt");
  std::uint64_t schedules = 0;
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty() || line.front() == '#') continue;
    SCOPED_TRACE(line);
    simulate(std::strtoull(line.c_str(), nullptr, 10), 1);
    ++schedules;
  }
  EXPECT_GT(schedules, 0U);
}

TEST(SimulationOf, SeedsThatAreAskedFor) {
  const char* const asked = std::getenv("MSRUN_SIMULATED");
  if (asked == nullptr) GTEST_SKIP() << "MSRUN_SIMULATED=first:count asks for some";
  char* end = nullptr;
  const std::uint64_t first = std::strtoull(asked, &end, 10);
  const std::uint64_t count = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 1;
  print(count, simulate(first, count));
}

TEST(SimulationOf, ASeedIsTheSameEachTime) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Seen first = simulate(seed, 1);
    const Seen second = simulate(seed, 1);
    EXPECT_EQ(first.lives, second.lives) << seed;
    EXPECT_EQ(first.runner_deaths, second.runner_deaths) << seed;
    EXPECT_EQ(first.checks, second.checks) << seed;
  }
}

}  // namespace
}  // namespace msrun::simulation
