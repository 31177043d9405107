// Kills, stops and crashes supervisor and runners at random instants and continues the run until it is done: the CSVs
// must be those of a run that nobody disturbed, and nothing may be left behind.
//
// The seed is printed. MSRUN_CHAOS_SEED repeats a round, MSRUN_CHAOS_ROUNDS makes more of them (10 by default).
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

class Chaos : public ::testing::Test {
 protected:
  static constexpr const char* fixture = "vit_fp32";

  // A dump of at least 500 calls: those of a fixture over and over, under further indices.
  void SetUp() override {
    // Under a sanitizer, too, SIGSEGV is to end a process as it does otherwise.
    setenv("ASAN_OPTIONS", "handle_segv=0", 0);
    setenv("TSAN_OPTIONS", "handle_segv=0", 0);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::ifstream file(dump(fixture));
    nlohmann::ordered_json recorded = nlohmann::ordered_json::parse(file);
    nlohmann::ordered_json data;
    for (int copy = 0; copy < 10; ++copy) {
      for (const auto& [entry, content] : recorded["data"].items()) {
        const std::size_t direction = entry.rfind('.');
        const std::size_t index = entry.rfind('.', direction - 1);
        const int number = std::stoi(entry.substr(index + 1, direction - index - 1));
        data[entry.substr(0, index + 1) + std::to_string(number + 100 * copy) + entry.substr(direction)] = content;
        if (entry.ends_with(".forward")) ++calls_;
      }
    }
    recorded["data"] = data;
    write_file(scratch_ / "dump.json", recorded.dump());
    ASSERT_GE(calls_, 500);
  }

  std::vector<std::string> arguments(const fs::path& out) const {
    return {"-api_info", scratch_ / "dump.json", "-n", "16",        "-d", "0", "1", "2", "3", "-o",
            out,         "--task-timeout",       "2",  "--retries", "60"};
  }

  // One life of a supervisor. True if it ended by itself with everything done.
  bool live(const std::vector<std::string>& args, std::mt19937_64& random, bool disturb) {
    Process run(args, scratch_.path());
    const auto chance = [&](double share) { return std::uniform_real_distribution<>(0, 1)(random) < share; };
    while (disturb && run.running()) {
      sleep_for(std::uniform_real_distribution<>(0.0, 0.3)(random));
      if (chance(0.25)) {
        if (chance(0.3)) {
          // A stopped supervisor: its runners go on until their rings are full, and die with it.
          run.signal(SIGSTOP);
          sleep_for(std::uniform_real_distribution<>(0.0, 0.2)(random));
          if (chance(0.5)) {
            run.signal(SIGCONT);
            continue;
          }
        }
        run.signal(chance(0.3) ? SIGSEGV : SIGKILL);
        run.signal(SIGCONT);
        break;
      }
      std::vector<std::pair<pid_t, std::string>> runners;
      for (const auto& child : children(run.pid())) runners.push_back(child);
      if (runners.empty()) continue;
      const auto& [victim, name] = runners[random() % runners.size()];
      // A child that is stopped before its first system call cannot have asked to die with its parent.
      const bool may_stop = name.starts_with("msrun-dev");
      kill(victim, chance(0.4) ? SIGKILL : chance(0.5) || !may_stop ? SIGSEGV : SIGSTOP);
    }
    const Finished finished = run.wait();
    EXPECT_THAT(finished.exit_code, ::testing::AnyOf(0, 3, 128 + SIGKILL, 128 + SIGSEGV))
        << finished.exit_code << "\n"
        << finished.out << finished.err;
    return finished.exit_code == 0;
  }

  const TemporaryDirectory scratch_;
  int calls_ = 0;
};

TEST_F(Chaos, EndsWithTheFilesOfAnUndisturbedRun) {
  const std::uint64_t seed = number_from("MSRUN_CHAOS_SEED", std::random_device{}());
  const std::uint64_t rounds = number_from("MSRUN_CHAOS_ROUNDS", 10);
  std::cout << "MSRUN_CHAOS_SEED=" << seed << '\n';
  std::mt19937_64 random(seed);
  const std::set<std::string> shared_memory = shared_memory_names();

  ASSERT_TRUE(live(arguments(scratch_ / "calm"), random, false));
  const std::string result = read_file(only_file(scratch_ / "calm", "accuracy_checking_result_"));
  const std::string details = read_file(only_file(scratch_ / "calm", "accuracy_checking_details_"));

  std::uint64_t lives = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(seed));
    const fs::path out = scratch_ / ("round" + std::to_string(round));
    bool done = false;
    for (int life = 0; !done; ++life) {
      ASSERT_LT(life, 60) << "the run makes no progress";
      ++lives;
      std::vector<std::string> args = arguments(out);
      const fs::path csv = csv_in(out, "accuracy_checking_result_");
      if (!csv.empty()) args.insert(args.end(), {"-csv_path", csv});
      // The last lives are left in peace, so that every round ends.
      done = live(args, random, life < 12);
      ASSERT_TRUE(eventually(10, [&] { return processes_with(scratch_.path().string()) == 0; })) << "a process is left";
      if (HasFailure()) return;
    }
    EXPECT_EQ(read_file(only_file(out, "accuracy_checking_result_")), result);
    EXPECT_EQ(read_file(only_file(out, "accuracy_checking_details_")), details);
    for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name.ends_with(".csv") || name.ends_with(".journal") || name.starts_with("device")) << name;
    }
    if (HasFailure()) return;
    fs::remove_all(out);
  }
  EXPECT_EQ(shared_memory_names(), shared_memory);
  std::cout << rounds << " rounds, " << lives << " lives\n";
}

}  // namespace
}  // namespace msrun::testing
