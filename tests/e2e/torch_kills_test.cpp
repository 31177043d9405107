// Supervisor, runner, worker and the process that forks workers, killed at random instants on the torch backend:
// continued, the run ends with the files of one that nobody disturbed, and no process is left behind.
//
// The seed is printed. MSRUN_TORCH_SEED repeats a run of the test, MSRUN_TORCH_ROUNDS makes more rounds of it (3 by
// default).
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <thread>

#include "tests/support/msrun_process.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

constexpr double deadline = 240;  // seconds for one life of a supervisor; the rest is for a busy host

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

enum class Role { supervisor, runner, forker, worker };
constexpr std::array<const char*, 4> role_names{"supervisor", "runner", "forker", "worker"};

// A process of that role below a supervisor; nothing if there is none yet.
std::optional<pid_t> process_of(Role role, pid_t supervisor) {
  if (role == Role::supervisor) return supervisor;
  for (const auto& [child, name] : children(supervisor)) {
    const bool is_runner = name.starts_with("msrun-dev");
    if (role == Role::runner && is_runner) return child;
    if (is_runner || !name.starts_with("python")) continue;
    if (role == Role::forker) return child;
    const auto workers = children(child);
    if (!workers.empty()) return workers.begin()->first;
  }
  return std::nullopt;
}

// Processes, of any parent, that were started with this in their environment.
std::vector<pid_t> processes_marked(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (read_file(entry.path() / "environ").find(mark) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

class TorchKills : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  }

  std::vector<std::string> arguments(const fs::path& out) {
    std::vector<std::string> words{"-api_info", dump("cnn_fp32"), "-o",        out,  "--backend",      "torch:cpu",
                                   "--python",  torch_python(),   "--retries", "60", "--task-timeout", "60"};
    const auto add = [&](const std::vector<std::vector<std::string>>& choices) {
      const std::vector<std::string>& choice = choices[random_() % choices.size()];
      words.insert(words.end(), choice.begin(), choice.end());
    };
    add({{"-n", "1"}, {"-n", "2"}, {"-n", "4"}});
    add({{}, {"-d", "0", "1"}});
    add({{}, {"--torch-workers", "2"}, {"--torch-lanes", "1"}});
    const fs::path csv = csv_in(out, "accuracy_checking_result_");
    if (!csv.empty()) words.insert(words.end(), {"-csv_path", csv});
    return words;
  }

  void sleep_up_to(double seconds) {
    const std::chrono::duration<double> time(std::uniform_real_distribution<>(0, seconds)(random_));
    std::this_thread::sleep_for(time);
  }

  // Kills processes of a running supervisor until it is one of them or there is nothing left to kill.
  void disturb(Process& process) {
    // Either while there is hardly anything yet, or once there is a runner at work.
    if (random_() % 4 != 0) {
      eventually(60, [&] { return !process.running() || process_of(Role::runner, process.pid()); });
    }
    for (int kills = 1 + static_cast<int>(random_() % 3); kills > 0 && process.running(); --kills) {
      sleep_up_to(0.4);
      const auto role = static_cast<Role>(random_() % role_names.size());
      const std::optional<pid_t> victim = process_of(role, process.pid());
      if (!victim) continue;
      ++kills_[static_cast<std::size_t>(role)];
      ::kill(*victim, SIGKILL);
      if (role == Role::supervisor) return;
    }
  }

  // True if it ended by itself with everything done.
  bool live(const fs::path& out, bool is_disturbed) {
    const std::string mark = "MSRUN_TEST_MARK=" + scratch_.path().string();
    const std::vector<std::string> words = arguments(out);
    std::string command;
    for (const std::string& word : words) command += " " + word;
    SCOPED_TRACE(command);
    Process process(words, scratch_.path(), {mark});
    if (is_disturbed) disturb(process);
    if (!eventually(deadline, [&] { return !process.running(); })) {
      ADD_FAILURE() << "it has not ended for " << deadline << " s: " << process.out();
      return false;
    }
    const Finished finished = process.wait();
    EXPECT_THAT(finished.exit_code, ::testing::AnyOf(0, 2, 3, 128 + SIGKILL)) << finished.out << finished.err;
    // Without the process that was asked what torch there is, there is no run; nothing else is refused.
    const char* const reason = finished.exit_code == 2 ? "before torch was there" : "";
    EXPECT_THAT(finished.err, ::testing::HasSubstr(reason));
    EXPECT_TRUE(eventually(30, [&] { return processes_marked(mark).empty(); }))
        << processes_marked(mark).size() << " processes are left";
    return finished.exit_code == 0;
  }

  std::array<std::string, 2> files(const fs::path& out) {
    return {read_file(only_file(out, "accuracy_checking_result_")),
            read_file(only_file(out, "accuracy_checking_details_"))};
  }

  const TemporaryDirectory scratch_;
  std::mt19937_64 random_;
  std::array<int, role_names.size()> kills_{};
};

TEST_F(TorchKills, EndWithTheFilesOfAnUndisturbedRun) {
  const std::uint64_t seed = number_from("MSRUN_TORCH_SEED", std::random_device{}());
  const std::uint64_t rounds = number_from("MSRUN_TORCH_ROUNDS", 3);
  std::cout << "MSRUN_TORCH_SEED=" << seed << '\n' << std::flush;
  random_.seed(seed);
  ASSERT_TRUE(live(scratch_ / "calm", false));
  const std::array<std::string, 2> calm = files(scratch_ / "calm");
  int lives = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(seed));
    const fs::path out = scratch_ / ("round" + std::to_string(round));
    const std::uint64_t disturbed = 1 + random_() % 3;
    bool done = false;
    for (std::uint64_t life = 0; !done; ++life) {
      ASSERT_LT(life, disturbed + 3) << "the run makes no progress";
      done = live(out, life < disturbed);
      ++lives;
      if (HasFailure()) return;
    }
    EXPECT_EQ(files(out), calm);
    if (HasFailure()) return;
    fs::remove_all(out);
    std::cout << "round " << round << " is done\n" << std::flush;
  }
  std::cout << rounds << " rounds of " << lives << " lives, all with the same files; killed were";
  for (std::size_t i = 0; i < kills_.size(); ++i)
    std::cout << (i == 0 ? " " : ", ") << kills_[i] << " " << role_names[i];
  std::cout << '\n';
}

// A worker that something outside has stopped shows no sign of life, and neither does its runner then. The calls that
// it was on are not to blame.
TEST_F(TorchKills, AStoppedWorkerIsNobodysFault) {
  const std::string mark = "MSRUN_TEST_MARK=" + scratch_.path().string();
  Process process({"-api_info", dump("cnn_fp32"), "-o", scratch_ / "out", "--backend", "torch:cpu", "--python",
                   torch_python(), "-n", "2", "--task-timeout", "10", "--retries", "0", "--repeat", "400"},
                  scratch_.path(), {mark});
  std::optional<pid_t> worker;
  ASSERT_TRUE(eventually(deadline, [&] {
    const std::optional<pid_t> runner = process_of(Role::runner, process.pid());
    const std::optional<pid_t> forker = process_of(Role::forker, process.pid());
    if (!runner || !forker) return false;
    // An earlier one inspects the devices.
    for (const auto& [child, name] : children(*forker)) {
      if (child > *runner) worker = child;
    }
    return worker.has_value();
  }));
  std::this_thread::sleep_for(std::chrono::seconds(3));  // it has calls by then
  ASSERT_EQ(::kill(*worker, SIGSTOP), 0);
  const Finished finished = process.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out + finished.err, ::testing::HasSubstr("stopped from outside, no sign of life within 10 s"));
  EXPECT_TRUE(eventually(30, [&] { return processes_marked(mark).empty(); }))
      << processes_marked(mark).size() << " processes are left";
}

}  // namespace
}  // namespace msrun::testing
