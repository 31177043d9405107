// Kills, stops and crashes supervisor and runners at random instants and continues the run, with other options each
// time, until it is done: it must end, the CSVs must be those of a run that nobody disturbed, and nothing may be left
// behind.
//
// The seed is printed. MSRUN_CHAOS_SEED repeats a run of the test, MSRUN_CHAOS_ROUNDS makes more rounds of it (5 by
// default), MSRUN_CHAOS_LOG names a file to which a line is appended for each.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "tests/support/sanitized.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

// Seconds for one life of a supervisor from its last disturbance on. A stopped runner is noticed after two of them, and
// the whole of the work takes a few; the rest is for a host that is busy with other things.
constexpr double deadline = 240;

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// What the processes of a run are at, for the report of one that does not end.
std::string state_of(pid_t pid) {
  std::string text;
  const auto describe = [&](pid_t process) {
    const fs::path folder = fs::path("/proc") / std::to_string(process);
    std::istringstream status(read_file(folder / "status"));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Name:") || line.starts_with("State:") || line.starts_with("Threads:")) text += line + "; ";
    }
    text += "waits in " + read_file(folder / "wchan") + "\n";
  };
  describe(pid);
  for (const auto& [child, name] : children(pid)) describe(child);
  return text;
}

// Whether no thread of a process runs: it waits for a token, for memory or for others, or has nothing left to do.
bool is_idle(pid_t pid) {
  // A process that ends meanwhile is not idle.
  std::error_code gone;
  fs::directory_iterator thread(fs::path("/proc") / std::to_string(pid) / "task", gone);
  for (; !gone && thread != fs::directory_iterator(); thread.increment(gone)) {
    const std::string stat = read_file(thread->path() / "stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || stat.compare(name_end, 3, ") S") != 0) return false;
  }
  return !gone;
}

struct Tally {
  int lives = 0;
  int kills = 0;       // of runners
  int crashes = 0;     // of runners
  int stops = 0;       // of one runner, for good
  int idle_stops = 0;  // of one that had nothing to do, for good
  int all_stops = 0;   // of all runners, for good
  int job_stops = 0;   // of supervisor and runners together, for a while
  int supervisor = 0;  // its deaths

  void add(const Tally& other) {
    lives += other.lives;
    kills += other.kills;
    crashes += other.crashes;
    stops += other.stops;
    idle_stops += other.idle_stops;
    all_stops += other.all_stops;
    job_stops += other.job_stops;
    supervisor += other.supervisor;
  }
  std::string text() const {
    return std::to_string(lives) + " lives, " + std::to_string(supervisor) + " supervisors killed; of runners " +
           std::to_string(kills) + " killed, " + std::to_string(crashes) + " crashed, " + std::to_string(stops) +
           " stopped, " + std::to_string(idle_stops) + " stopped while idle, " + std::to_string(all_stops) +
           " times all stopped; " + std::to_string(job_stops) + " times the whole job stopped";
  }
};

fs::path details_beside(const fs::path& result) {
  constexpr std::string_view prefix = "accuracy_checking_result_";
  return result.parent_path() / ("accuracy_checking_details_" + result.filename().string().substr(prefix.size()));
}

class Chaos : public ::testing::Test {
 protected:
  virtual fs::path recording() const { return dump("cnn_fp32"); }
  // Copies of the recording's calls: at least 500 calls together.
  virtual int copies() const { return 10; }

  // A dump of at least 500 calls: those of a fixture over and over, under further indices.
  void SetUp() override {
    // Under a sanitizer, too, SIGSEGV is to end a process as it does otherwise.
    setenv("ASAN_OPTIONS", "handle_segv=0", 0);
    setenv("TSAN_OPTIONS", "handle_segv=0", 0);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::ifstream file(recording());
    nlohmann::ordered_json recorded = nlohmann::ordered_json::parse(file);
    nlohmann::ordered_json data;
    for (int copy = 0; copy < copies(); ++copy) {
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

  // What changes no result is drawn anew for every life.
  std::vector<std::string> arguments(const fs::path& out) {
    std::vector<std::string> words{"-api_info",      scratch_ / "dump.json", "-o",        out,
                                   "--task-timeout", time_for_a_call(2),     "--retries", "60"};
    words.insert(words.end(), fixed_.begin(), fixed_.end());
    const auto add = [&](const std::vector<std::vector<std::string>>& choices) {
      const std::vector<std::string>& choice = choices[random_() % choices.size()];
      words.insert(words.end(), choice.begin(), choice.end());
    };
    add({{}, {"-n", "1"}, {"-n", "4"}, {"-n", "16"}, {"-n", "32"}});
    if (fixed_.empty())
      add({{}, {"-d", "0"}, {"-d", "0", "1"}, {"-d", "0", "1", "2", "3"}, {"-d", "0", "1", "2", "3"}});
    add({{}, {"--durability", "process"}, {"--durability", "power"}});
    add({{}, {"--memory", "256M"}, {"--memory", "1G"}, {"--memory", "50%"}});
    return words;
  }

  bool chance(double share) { return std::uniform_real_distribution<>(0, 1)(random_) < share; }
  double up_to(double seconds) { return std::uniform_real_distribution<>(0.0, seconds)(random_); }

  // Does something to a runner or to all.
  void disturb_runners(Process& run) {
    std::vector<std::pair<pid_t, std::string>> runners;
    for (const auto& child : children(run.pid())) runners.push_back(child);
    if (runners.empty()) return;
    // A child that is stopped before its first system call cannot have asked to die with its parent.
    const auto may_stop = [](const auto& runner) { return runner.second.starts_with("msrun-dev"); };
    if (chance(0.1)) {
      ++tally_.all_stops;
      for (const auto& runner : runners) {
        if (may_stop(runner)) kill(runner.first, SIGSTOP);
      }
      return;
    }
    if (chance(0.1)) {
      ++tally_.job_stops;
      run.signal(SIGSTOP);
      for (const auto& runner : runners) {
        if (may_stop(runner)) kill(runner.first, SIGSTOP);
      }
      sleep_for(up_to(3));
      for (const auto& runner : runners) kill(runner.first, SIGCONT);
      run.signal(SIGCONT);
      return;
    }
    if (chance(0.3)) {
      for (const auto& runner : runners) {
        if (!may_stop(runner) || !is_idle(runner.first)) continue;
        ++tally_.idle_stops;
        kill(runner.first, SIGSTOP);
        return;
      }
    }
    const auto& victim = runners[random_() % runners.size()];
    const double what = up_to(1);
    int* const count = what < 0.35 ? &tally_.kills : what < 0.6 || !may_stop(victim) ? &tally_.crashes : &tally_.stops;
    ++*count;
    kill(victim.first, count == &tally_.kills ? SIGKILL : count == &tally_.crashes ? SIGSEGV : SIGSTOP);
  }

  // Ends the supervisor, or has its runners go on for a while until their rings are full. True if it is to end.
  bool disturb_supervisor(Process& run) {
    if (chance(0.3)) {
      run.signal(SIGSTOP);
      sleep_for(up_to(0.2));
      if (chance(0.5)) {
        run.signal(SIGCONT);
        return false;
      }
    }
    ++tally_.supervisor;
    run.signal(chance(0.3) ? SIGSEGV : SIGKILL);
    run.signal(SIGCONT);
    return true;
  }

  // One life of a supervisor. True if it ended by itself with everything done.
  bool live(const std::vector<std::string>& args, bool disturb) {
    ++tally_.lives;
    std::string command;
    for (const std::string& word : args) command += " " + word;
    SCOPED_TRACE(command);
    Process run(args, scratch_.path());
    // No more disturbances than this, so that a run of which nothing gets done is noticed, too.
    for (int more = 200; disturb && more > 0 && run.running(); --more) {
      sleep_for(up_to(0.3));
      if (!chance(0.25)) {
        disturb_runners(run);
      } else if (disturb_supervisor(run)) {
        break;
      }
    }
    if (!eventually(deadline, [&] { return !run.running(); })) {
      ADD_FAILURE() << "hung: it has not ended for " << deadline << " s\n" << state_of(run.pid()) << run.out();
      return false;
    }
    const Finished finished = run.wait();
    EXPECT_THAT(finished.exit_code, ::testing::AnyOf(0, 3, 128 + SIGKILL, 128 + SIGSEGV))
        << finished.exit_code << "\n"
        << finished.out << finished.err;
    return finished.exit_code == 0;
  }

  // Lives until the run is done. The last ones are left in peace, so that every round ends.
  void run_round(const fs::path& out) {
    const std::uint64_t disturbed = 1 + random_() % 8;
    bool done = false;
    for (std::uint64_t life = 0; !done; ++life) {
      ASSERT_LT(life, disturbed + 3) << "the run makes no progress";
      std::vector<std::string> args = arguments(out);
      const fs::path csv = csv_in(out, "accuracy_checking_result_");
      if (!csv.empty()) args.insert(args.end(), {"-csv_path", csv});
      done = live(args, life < disturbed);
      ASSERT_TRUE(eventually(10, [&] { return processes_with(scratch_.path().string()) == 0; })) << "a process is left";
      if (HasFailure()) return;
    }
  }

  const TemporaryDirectory scratch_;
  std::mt19937_64 random_;
  // As many rounds as the environment asks for, or those.
  void run_rounds(std::uint64_t usual_rounds);

  std::vector<std::string> fixed_;  // what every life is started with
  Tally tally_;
  int calls_ = 0;
};

void Chaos::run_rounds(std::uint64_t usual_rounds) {
  const std::uint64_t seed = number_from("MSRUN_CHAOS_SEED", std::random_device{}());
  const std::uint64_t rounds = number_from("MSRUN_CHAOS_ROUNDS", usual_rounds);
  const char* log_name = std::getenv("MSRUN_CHAOS_LOG");
  std::ofstream log(log_name == nullptr ? "" : log_name, std::ios::app);
  const auto say = [&](const std::string& line) {
    log << line << '\n' << std::flush;
    std::cout << line << '\n' << std::flush;
  };
  say("MSRUN_CHAOS_SEED=" + std::to_string(seed));
  random_.seed(seed);
  const std::set<std::string> shared_memory = shared_memory_names();

  ASSERT_TRUE(live(arguments(scratch_ / "calm"), false));
  const std::string result = read_file(only_file(scratch_ / "calm", "accuracy_checking_result_"));
  const std::string details = read_file(only_file(scratch_ / "calm", "accuracy_checking_details_"));

  Tally total;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(seed));
    const fs::path out = scratch_ / ("round" + std::to_string(round));
    tally_ = {};
    run_round(out);
    if (!HasFailure()) {
      const fs::path result_file = only_file(out, "accuracy_checking_result_");
      EXPECT_EQ(read_file(result_file), result);
      // A supervisor that is killed between the creation of its two files leaves the details alone, without a row.
      EXPECT_EQ(read_file(details_beside(result_file)), details);
      for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
        const std::string name = entry.path().filename();
        EXPECT_TRUE(name.ends_with(".csv") || name.ends_with(".journal") || name.ends_with(".html") ||
                    name.starts_with("device"))
            << name;
      }
    }
    total.add(tally_);
    say((HasFailure() ? "FAILED round " : "round ") + std::to_string(round) + ": " + tally_.text());
    if (HasFailure()) return;
    fs::remove_all(out);
    for (const fs::directory_entry& entry : fs::directory_iterator(scratch_.path())) {
      if (entry.path().filename().string().starts_with("std")) fs::remove(entry.path());
    }
  }
  EXPECT_EQ(shared_memory_names(), shared_memory);
  say(std::to_string(rounds) + " rounds, all byte-identical, none hung: " + total.text());
}

TEST_F(Chaos, EndsWithTheFilesOfAnUndisturbedRun) { run_rounds(5); }

class MindSporeChaos : public Chaos {
 protected:
  fs::path recording() const override { return test_data("/mindspore/02_forward_backward_pairs/dump.json"); }
  int copies() const override { return 80; }
};

TEST_F(MindSporeChaos, EndsWithTheFilesOfAnUndisturbedRun) { run_rounds(5); }

// Devices that differ, calls that differ from run to run, and results that wait for those of other devices.
TEST_F(Chaos, EndsWithTheFilesOfAnUndisturbedRunOnAllDevices) {
  fixed_ = {"-d",          "0",
            "1",           "--same-on-all",
            "--repeat",    "2",
            "--sim-fault", "Torch.*=wrong-on-device=1",
            "--sim-fault", "Functional.*=wrong-once=0.2"};
  run_rounds(2);
}

}  // namespace
}  // namespace msrun::testing
