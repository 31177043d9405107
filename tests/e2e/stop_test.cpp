// Runs that are stopped from outside: signals and a disk that fills up. What is finished is kept, nothing else is left,
// and the run can be continued to the files of an undisturbed one.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "tests/support/spawned_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/unfinished.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Stop : public Unfinished {
 protected:
  std::vector<std::string> arguments(const fs::path& out) const {
    return {"-api_info", dump("llama_bf16"), "-n", "4", "-d", "0", "1", "-o", out};
  }

  static std::string last_line(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

  void expect_stopped(const Finished& finished) const {
    EXPECT_EQ(finished.exit_code, 3) << finished.out << finished.err;
    EXPECT_THAT(last_line(finished.out), HasSubstr("Continue it with: " + programs() + "/msrun "));
    EXPECT_THAT(last_line(finished.out), HasSubstr(only_file(out(), "accuracy_checking_result_").string()));
    expect_only_result_files();
  }

  void expect_continues_to_the_end() {
    const fs::path result = only_file(out(), "accuracy_checking_result_");
    const Finished finished =
        msrun({"-api_info", dump("llama_bf16"), "-n", "4", "-d", "0", "1", "-csv_path", result}, scratch_.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    expect_as_if_undisturbed();
  }
};

double seconds_until_end(Process& run) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually(30, [&] { return !run.running(); }));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The call in flight is waited for, up to its time limit.
TEST_F(Stop, ByCtrlC) {
  const auto run = busy_run({"--task-timeout", "3"});
  run->signal(SIGINT);
  seconds_until_end(*run);
  const Finished finished = run->wait();
  expect_stopped(finished);
  EXPECT_THAT(finished.out, HasSubstr("press Ctrl-C again"));
  expect_continues_to_the_end();
}

TEST_F(Stop, ByCtrlCTwiceAtOnce) {
  const auto run = busy_run();
  run->signal(SIGINT);
  ASSERT_TRUE(eventually(10, [&] { return run->out().find("press Ctrl-C again") != std::string::npos; }));
  EXPECT_TRUE(run->running());
  run->signal(SIGINT);
  EXPECT_LT(seconds_until_end(*run), 2);
  expect_stopped(run->wait());
}

// Whoever sends SIGTERM sends SIGKILL some seconds later: the calls in flight are not waited for that long.
TEST_F(Stop, BySigterm) {
  const auto run = busy_run();
  run->signal(SIGTERM);
  EXPECT_LT(seconds_until_end(*run), 9);
  expect_stopped(run->wait());
}

// What programs started meanwhile do about SIGHUP.
class InheritedHangup {
 public:
  explicit InheritedHangup(void (*action)(int)) : before_(std::signal(SIGHUP, action)) {}
  InheritedHangup(const InheritedHangup&) = delete;
  InheritedHangup& operator=(const InheritedHangup&) = delete;
  ~InheritedHangup() { std::signal(SIGHUP, before_); }

 private:
  void (*before_)(int);
};

TEST_F(Stop, ByAClosedTerminal) {
  const InheritedHangup as_usual(SIG_DFL);
  const auto run = busy_run();
  for (const auto& [pid, name] : children(run->pid())) ::kill(pid, SIGHUP);
  run->signal(SIGHUP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_TRUE(run->running());
  run->signal(SIGTERM);
  EXPECT_LT(seconds_until_end(*run), 2);
  expect_stopped(run->wait());
}

// timeout tells the process and then its group, a job scheduler all processes: the calls in flight have their time.
TEST_F(Stop, BySigtermToAllProcessesAndOnceMore) {
  const auto run = busy_run();
  for (const auto& [pid, name] : children(run->pid())) ::kill(pid, SIGTERM);
  run->signal(SIGTERM);
  ASSERT_TRUE(eventually(10, [&] { return run->out().find("Stopping") != std::string::npos; }));
  run->signal(SIGTERM);
  const double seconds = seconds_until_end(*run);
  EXPECT_GT(seconds, 3);
  EXPECT_LT(seconds, 9);
  expect_stopped(run->wait());
}

TEST_F(Stop, NotByAClosedTerminalUnderNohup) {
  const InheritedHangup nohup(SIG_IGN);
  const auto run = busy_run();
  run->signal(SIGHUP);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(run->out().find("Stopping"), std::string::npos);
  EXPECT_TRUE(run->running());
  run->signal(SIGTERM);
  ASSERT_TRUE(eventually(10, [&] { return run->out().find("Stopping") != std::string::npos; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  run->signal(SIGTERM);
  EXPECT_LT(seconds_until_end(*run), 2);
  expect_stopped(run->wait());
}

// A file that may not grow is to a program what a full disk is.
TEST_F(Stop, ByAFullDisk) {
  {
    const InheritedLimit disk(RLIMIT_FSIZE, 12000);
    const Finished finished = msrun(arguments(out()), scratch_.path());
    expect_stopped(finished);
    EXPECT_THAT(finished.out, HasSubstr("accuracy_checking_details_"));
    EXPECT_THAT(finished.out, HasSubstr("File too large"));
    // The CSVs are behind the journal, by a second at most.
    EXPECT_THAT(msrun({"journal", only_file(out(), "accuracy_checking_2"), "--export", "-"}, scratch_.path()).out,
                HasSubstr("Functional."));
    // No room to continue either: what is there stays.
    const Finished again = msrun(
        {"-api_info", dump("llama_bf16"), "-csv_path", only_file(out(), "accuracy_checking_result_")}, scratch_.path());
    expect_stopped(again);
  }
  expect_continues_to_the_end();
}

// What is told at the end is what is kept.
TEST_F(Stop, ByAFullDiskCountsNoResultThatIsLost) {
  Finished finished;
  {
    const InheritedLimit disk(RLIMIT_FSIZE, 12000);
    finished = msrun(arguments(out()), scratch_.path());
  }
  expect_stopped(finished);
  const Finished kept = msrun({"journal", only_file(out(), "accuracy_checking_2"), "--export", "-"}, scratch_.path());
  const auto results = std::ranges::count(kept.out, '\n');
  EXPECT_GT(results, 0);
  EXPECT_THAT(finished.out, HasSubstr("stopped at " + std::to_string(results) + "/"));
}

// Nothing that is computed from then on could be kept.
TEST_F(Stop, ByARemovedOutputDirectory) {
  const auto run = busy_run({"--task-timeout", "2", "--retries", "0"});
  ASSERT_TRUE(fs::remove_all(out()) > 0);
  EXPECT_LT(seconds_until_end(*run), 20);
  const Finished finished = run->wait();
  EXPECT_EQ(finished.exit_code, 3) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr(".journal: No such file or directory"));
  EXPECT_THAT(last_line(finished.out), HasSubstr("its files are no longer in " + out().string() + ": start it again."));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Stop, ByAJournalThatIsMovedOrCut) {
  for (const bool moved : {true, false}) {
    fs::remove_all(out());
    const auto run = busy_run({"--task-timeout", "2", "--retries", "0"});
    const fs::path journal = only_journal(out());
    if (moved) {
      fs::rename(journal, scratch_ / "moved");
    } else {
      fs::resize_file(journal, 0);
    }
    EXPECT_LT(seconds_until_end(*run), 20);
    const Finished finished = run->wait();
    EXPECT_EQ(finished.exit_code, 3) << finished.out << finished.err;
    EXPECT_THAT(finished.out, HasSubstr(moved ? ".journal: No such file or directory" : "something else has cut it"));
    EXPECT_THAT(finished.out, Not(HasSubstr("/proc/self")));
    EXPECT_THAT(finished.out, Not(HasSubstr("Successfully completed")));
  }
}

// Then there is nothing to continue: as if it had not been started.
TEST_F(Stop, ByADiskThatIsFullBeforeTheStart) {
  fs::create_directory(out());
#ifdef __SANITIZE_THREAD__
  constexpr rlim_t least = 20;  // its runtime writes a few bytes to a file before main
#else
  constexpr rlim_t least = 0;
#endif
  // Less than any header needs, then less than the title row of the details file.
  for (rlim_t room = least; room < 380; room += 20) {
    const InheritedLimit disk(RLIMIT_FSIZE, room);
    const Finished finished = msrun(arguments(out()), scratch_.path());
    EXPECT_EQ(finished.exit_code, 3) << finished.out << finished.err;
    // The line itself is in a file.
    EXPECT_EQ(finished.err.substr(0, 7), std::string("msrun: ").substr(0, room));
    EXPECT_TRUE(fs::is_empty(out())) << "a file of a run that never started is left";
  }
}

// As at the end of a run a signal ends the waiting for a reader who does not read, and the program says what is lost.
TEST_F(Stop, OfADryRunThatNobodyReads) {
  const FullPipe unread;
  std::vector<std::string> words = arguments(out());
  words.emplace_back("--dry-run");
  SpawnedProcess run(words, {unread.descriptor(), -1}, scratch_.path());
  // The mask of the signals that it holds back, as soon as it waits for the reader. All signals are held back for a
  // moment by whatever starts a thread.
  ASSERT_TRUE(eventually(60, [&] {
    const std::string status = read_file("/proc/" + std::to_string(run.pid()) + "/status");
    const std::size_t at = status.find("SigBlk:");
    if (at == std::string::npos) return false;
    const unsigned long long mask = std::stoull(status.substr(at + 7), nullptr, 16);
    const auto holds = [mask](int signal) { return (mask >> (signal - 1) & 1) != 0; };
    return holds(SIGTERM) && !holds(SIGUSR1);
  })) << run.err();
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(3), std::optional<int>(2)) << run.err();
}

// Whoever reads the output may go away; the run does not depend on it.
TEST_F(Stop, NotByAReaderThatGoesAway) {
  const std::string program = programs() + "/msrun";
  const std::string command =
      program + " -api_info " + dump("cnn_fp32").string() + " -o " + out().string() +
      " --message-format json 2>/dev/null | head -c 10 > /dev/null; test \"${PIPESTATUS[0]}\" = 0";
  EXPECT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
  EXPECT_EQ(finished_calls(), 50U);
}

}  // namespace
}  // namespace msrun::testing
