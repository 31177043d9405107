// msrun bisect: the planted version at every place, in few runs; versions that cannot be tried; ends that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <set>

#include "kernels/base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/msrun_process.h"
#include "tests/support/sanitized.h"
#include "tests/tools/diff/run_journal_file.h"
#include "tools/run_bisect/search.h"
#include "tools/shrink/process.h"

namespace msrun::testing {
namespace {

using run_bisect::find_first_bad;
using run_bisect::Found;
using run_bisect::Verdict;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::size_t log2_rounded_up(std::size_t n) {
  std::size_t steps = 0;
  while ((std::size_t{1} << steps) < n) ++steps;
  return steps;
}

TEST(BisectSearch, FindsEveryPlaceInFewestSteps) {
  for (std::size_t count = 1; count <= 40; ++count) {
    for (std::size_t planted = 0; planted < count; ++planted) {
      std::set<std::size_t> tried;
      const Found found = find_first_bad(count, [&](std::size_t i) {
        EXPECT_TRUE(tried.insert(i).second && i + 1 < count) << i << " of " << count;
        return i >= planted ? Verdict::bad : Verdict::good;
      });
      EXPECT_EQ(found.first_bad, planted) << count;
      EXPECT_LE(tried.size(), log2_rounded_up(count)) << planted << " of " << count;
    }
  }
}

TEST(BisectSearch, NamesAllThatItMayBeWhereVersionsCannotBeTried) {
  for (std::size_t count = 2; count <= 12; ++count) {
    for (std::size_t planted = 0; planted < count; ++planted) {
      for (unsigned mask = 0; mask < (1U << (count - 1)); ++mask) {
        const auto is_skipped = [&](std::size_t i) { return (mask >> i & 1U) != 0; };
        const Found found = find_first_bad(count, [&](std::size_t i) {
          return is_skipped(i) ? Verdict::skip : i >= planted ? Verdict::bad : Verdict::good;
        });
        if (found.first_bad) {
          ASSERT_EQ(*found.first_bad, planted);
          continue;
        }
        ASSERT_GE(found.candidates.size(), 2U);
        ASSERT_TRUE(std::ranges::find(found.candidates, planted) != found.candidates.end());
        for (std::size_t i = 0; i + 1 < found.candidates.size(); ++i) ASSERT_TRUE(is_skipped(found.candidates[i]));
      }
    }
  }
}

// Runs that lie ready take the place of those that msrun makes.
class RunBisect : public ::testing::Test {
 protected:
  RunBisect() {
    write_run(scratch_ / "good_run", {passed("Torch.add.0"), passed("Torch.mul.0"), passed("Torch.old.0")});
    write_run(scratch_ / "bad_run", {wrong("Torch.add.0"), passed("Torch.mul.0"), passed("Torch.old.0")});
  }

  static ApiResult wrong(const std::string& name) {
    ApiResult result = passed(name);
    result.forward = Status::error;
    result.forward_rows[0].status = Status::error;
    result.forward_rows[0].beyond_rounding = true;
    result.forward_rows[0].message = "\nNot explained by rounding: 3 of 6 elements differ.";
    return result;
  }

  // A command under which versions from planted on are bad. Appends each version to the file "started".
  std::string command(int planted, const std::string& before = "true") const {
    return "V={version}; echo \"$V\" >> started; " + before + "; if [ \"$V\" -ge " + std::to_string(planted) +
           " ]; then cp bad_run/* {out}; else cp good_run/* {out}; fi";
  }
  Finished bisect(const std::vector<std::string>& words) const {
    return run_tool("run_bisect", words, scratch_.path());
  }
  // Tools run in the directory of the test program; the command has to find its way.
  std::string here(const std::string& text) const { return "cd '" + scratch_.path().string() + "' && " + text; }
  std::size_t started() const {
    const std::string text = read_file(scratch_ / "started");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  std::vector<std::string> with_runs(const std::string& versions, const std::string& command) const {
    return {"--good",    scratch_ / "good_run", "--bad", scratch_ / "bad_run", "--versions", versions,
            "--command", here(command),         "-o",    scratch_ / "runs"};
  }

  TemporaryDirectory scratch_;
};

std::string versions_to(int count) {
  std::string list;
  for (int i = 1; i <= count; ++i) list += (i == 1 ? "" : ",") + std::to_string(i);
  return list;
}

TEST_F(RunBisect, FindsThePlantedVersionInFewestRuns) {
  for (const auto& [count, planted] : {std::pair{1, 1}, {2, 1}, {2, 2}, {5, 4}, {7, 1}, {16, 16}, {33, 17}, {40, 29}}) {
    fs::remove_all(scratch_ / "runs");
    fs::remove(scratch_ / "started");
    const Finished run = bisect(with_runs(versions_to(count), command(planted)));
    EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
    EXPECT_THAT(run.out, HasSubstr("The first bad version is " + std::to_string(planted) + " (")) << run.out;
    EXPECT_LE(started(), log2_rounded_up(static_cast<std::size_t>(count))) << count;
  }
}

TEST_F(RunBisect, MakesTheRunsOfItsEndsWhereTheyAreVersions) {
  const Finished run = bisect({"--good", "10", "--bad", "26", "--command", here(command(21)), "-o", scratch_ / "runs"});
  EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
  EXPECT_THAT(run.out, AllOf(HasSubstr("New from 10 to 26: Torch.add.0."), HasSubstr("first bad version is 21 (4 runs"),
                             HasSubstr("New there: Torch.add.0.")));
  EXPECT_EQ(started(), 6U);
}

// A shell is told that the search was killed, what it has started is not.
TEST_F(RunBisect, LeavesNoCommandBehindWhenItIsKilled) {
  const fs::path pid_file = scratch_ / "pid";
  Process search(with_runs(versions_to(3), ": {version} {out}; sh -c 'echo $$ > pid; exec sleep 1000'; true"),
                 scratch_.path(), {}, "run_bisect");
  ASSERT_TRUE(eventually(60, [&] { return fs::exists(pid_file) && read_file(pid_file).ends_with('\n'); }));
  const pid_t command = std::stoi(read_file(pid_file));
  EXPECT_EQ(kill(command, 0), 0);
  search.signal(SIGKILL);
  EXPECT_TRUE(eventually(30, [&] { return kill(command, 0) != 0 && errno == ESRCH; }));
}

TEST_F(RunBisect, RemembersTheRunsThatItHasMade) {
  const std::vector<std::string> words = with_runs(versions_to(16), command(5));
  EXPECT_EQ(bisect(words).exit_code, 0);
  EXPECT_EQ(started(), 4U);
  const Finished again = bisect(words);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(started(), 4U);
  EXPECT_THAT(again.out, AllOf(HasSubstr("(its run was there)"), HasSubstr("first bad version is 5 (0 runs")));
  // Another command makes other runs.
  const Finished other = bisect(with_runs(versions_to(16), command(9)));
  EXPECT_THAT(other.out, HasSubstr("first bad version is 9 (4 runs"));
}

TEST_F(RunBisect, VersionsThatCannotBeTriedAreSkippedAndSaidSo) {
  const std::string unfit = "case $V in 4) exit 125;; 5) exit 127;; 6) kill -9 $$;; esac";
  Finished run = bisect(with_runs(versions_to(8), command(3, unfit)));
  EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
  EXPECT_THAT(run.out, AllOf(HasSubstr("4 cannot be tried and is skipped: the command says so (exit code 125)"),
                             HasSubstr("first bad version is 3 (")));
  fs::remove_all(scratch_ / "runs");
  run = bisect(with_runs(versions_to(8), command(5, unfit)));
  EXPECT_EQ(run.exit_code, 1) << run.err << run.out;
  EXPECT_THAT(run.out, AllOf(HasSubstr("5 cannot be tried and is skipped: the command failed with exit code 127"),
                             HasSubstr("is skipped: the command was ended by a signal"),
                             HasSubstr("The first bad version is one of 4 5 6 7: ")));
  fs::remove_all(scratch_ / "runs");
  run = bisect(with_runs(versions_to(2), "true {version} {out}"));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("holds no run"));
}

// Whoever kills it, or a host that has no memory left, says nothing about the version.
TEST_F(RunBisect, TriesAgainWhatASignalHasEnded) {
  for (const char* signal : {"kill -9 $$", "sh -c \"kill -9 \\$\\$\"; exit $?", "sh -c \"kill -11 \\$\\$\"; exit $?"}) {
    SCOPED_TRACE(signal);
    fs::remove_all(scratch_ / "runs");
    fs::remove(scratch_ / "killed");
    const std::string once = std::string("if [ \"$V\" = 4 ] && [ ! -e killed ]; then touch killed; ") + signal + "; fi";
    const std::vector<std::string> words = with_runs(versions_to(8), command(4, once));
    const Finished first = bisect(words);
    EXPECT_THAT(first.out, HasSubstr("4 cannot be tried and is skipped: the command was ended by a signal"))
        << first.err;
    const Finished second = bisect(words);
    EXPECT_EQ(second.exit_code, 0) << second.err;
    EXPECT_THAT(second.out, HasSubstr("first bad version is 4 ("));
  }
}

// Of a program that cannot be started, as there is none, no exit code tells.
TEST_F(RunBisect, AProgramThatIsNotThereIsSaidSo) {
  EXPECT_THAT(error_of<UserError>([&] { shrink::run_program({"/none"}, scratch_ / "log", std::nullopt); }),
              HasSubstr("the program /none cannot be started: No such file or directory"));
  EXPECT_EQ(shrink::run_program({"/bin/sh", "-c", "no_such_command_at_all"}, scratch_ / "log", std::nullopt), 127);
}

// The processes of whoever ignores SIGCHLD are reaped by the kernel: as ended, not as in order.
TEST_F(RunBisect, ExitCodesAreThoseOfTheCommandWhereSigchldIsIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(shrink::run_program({"/bin/sh", "-c", "exit 7"}, scratch_ / "log", std::nullopt), -1);
  const std::vector<std::string> words =
      with_runs(versions_to(8), command(3, "case $V in 4) touch {out}; cp good_run/* {out}; exit 7;; esac"));
  Process search(words, scratch_.path(), {}, "run_bisect");
  std::signal(SIGCHLD, before);
  ASSERT_TRUE(eventually(60, [&] { return !search.running(); }));
  const Finished run = search.wait();
  EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
  EXPECT_THAT(run.out, HasSubstr("4 cannot be tried and is skipped: the command failed with exit code 7"));
}

// What msrun ignores for itself, a pipe that nobody reads or a file that may not grow, ends programs of others.
TEST_F(RunBisect, TheCommandHasSignalsAsItWouldFromAShell) {
  const Finished run = bisect(with_runs("1,2", command(1, "grep SigIgn /proc/self/status")));
  ASSERT_EQ(run.exit_code, 0) << run.err << run.out;
  const std::string log = read_file(scratch_ / "runs/1.log");
  ASSERT_THAT(log, HasSubstr("SigIgn:"));
  const auto ignored = std::stoull(log.substr(log.find(':') + 1), nullptr, 16);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGCHLD}) EXPECT_EQ(ignored >> (number - 1) & 1U, 0U) << number;
}

// Set while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST_F(RunBisect, NoTemporaryFileIsLeftWithoutGit) {
  fs::create_directories(scratch_ / "tmp");
  fs::create_directories(scratch_ / "no_programs");
  const std::vector<std::string> words{"--good",         "x1", "--bad", "x2", "--command", "true {version} {out}", "-o",
                                       scratch_ / "runs"};
  const Variable path("PATH", scratch_ / "no_programs");
  {
    const Variable temporary("TMPDIR", scratch_ / "tmp");
    const Finished run = bisect(words);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("neither whole numbers nor commits"));
    EXPECT_TRUE(fs::is_empty(scratch_ / "tmp"));
  }
  const Variable temporary("TMPDIR", "/none/of/these");
  const Finished run = bisect(words);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("There is no folder for temporary files (TMPDIR)"));
}

TEST_F(RunBisect, ARunThatCannotBeRemovedIsNotTakenForANewOne) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  ASSERT_EQ(bisect(with_runs("1,2", command(1))).exit_code, 0);
  const std::vector<std::string> failing{std::string("LD_PRELOAD=") + FAILING_FILES,
                                         "MSRUN_FAIL_DIR=" + (scratch_ / "runs/1").string(), "MSRUN_FAIL_AT=1",
                                         "MSRUN_FAIL_COUNT=1000", "MSRUN_FAIL_ERRNO=" + std::to_string(EBUSY)};
  const Finished run =
      Process(with_runs("1,2", command(2) + "; exit 0"), scratch_.path(), failing, "run_bisect").wait();
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_THAT(run.err, AllOf(HasSubstr("runs/1 of an earlier run cannot be removed"), HasSubstr("busy")));
}

TEST_F(RunBisect, NotesThatAreNoFileAreRefused) {
  fs::create_directories(scratch_ / "runs/bisect.json");
  const Finished run = bisect(with_runs("1,2", command(2)));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("bisect.json should be a file!"));
}

TEST_F(RunBisect, NotesThatNestTooDeepAreRefused) {
  fs::create_directories(scratch_ / "runs");
  write_file(scratch_ / "runs/bisect.json", R"({"1":)" + std::string(200'000, '[') + std::string(200'000, ']') + "}");
  const Finished run = bisect(with_runs("1,2", command(2)));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("bisect.json is no file of a search"));
}

TEST_F(RunBisect, EndsThatAreNotGoodAndBadAreRefused) {
  Finished run = bisect(
      {"--good", "8", "--bad", "9", "--command", here(command(3)), "-o", scratch_ / "runs", "--api", "Torch.add.0"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("the good end is not good: Torch.add.0 (suspicious) there already"));
  run = bisect({"--good", "8", "--bad", "9", "--command", here(command(3)), "-o", scratch_ / "runs"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("nothing is new"), HasSubstr("Torch.add.0 (suspicious)")));
  run = bisect({"--good", "1", "--bad", "2", "--command", here(command(3)), "-o", scratch_ / "other"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("the bad end is not bad"));
  run = bisect(
      {"--good", "1", "--bad", "3", "--command", here(command(3)), "-o", scratch_ / "other", "--api", "Torch.x"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("no call matches Torch.x"));
}

TEST_F(RunBisect, FollowsTheCallThatIsNamed) {
  write_run(scratch_ / "bad_run_2", {wrong("Torch.add.0"), wrong("Torch.mul.0"), passed("Torch.old.0")});
  const std::string three =
      "V={version}; echo \"$V\" >> started; if [ \"$V\" -ge 6 ]; then cp bad_run_2/* {out}; elif "
      "[ \"$V\" -ge 3 ]; then cp bad_run/* {out}; else cp good_run/* {out}; fi";
  std::vector<std::string> words{"--good", "1", "--bad", "8", "--command", here(three), "-o", scratch_ / "runs"};
  EXPECT_THAT(bisect(words).out, HasSubstr("first bad version is 3 ("));
  words.insert(words.end(), {"--api", "Torch.mul"});
  EXPECT_THAT(bisect(words).out, AllOf(HasSubstr("first bad version is 6 ("), HasSubstr("New there: Torch.mul.0.")));
}

TEST_F(RunBisect, GoesOnAfterAnInterrupt) {
  const std::string hanging = command(5, "if [ \"$V\" = 6 ] && [ ! -e go ]; then touch waiting; sleep 100; fi");
  const std::vector<std::string> words = with_runs(versions_to(8), hanging);
  Process first(words, scratch_.path(), {}, "run_bisect");
  ASSERT_TRUE(eventually(60, [&] { return fs::exists(scratch_ / "waiting"); }));
  first.signal(SIGINT);
  const Finished stopped = first.wait();
  EXPECT_EQ(stopped.exit_code, 3) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("Interrupted. The same command goes on"));
  write_file(scratch_ / "go", "");
  const Finished rest = bisect(words);
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.out, AllOf(HasSubstr("4 is good (its run was there)"), HasSubstr("first bad version is 5 (")));
}

TEST_F(RunBisect, VersionsMayHaveAnyName) {
  const std::string names = "v 1,$(touch hacked),'; exit 1; ',../../msrun_bisect_escaped,-o,last";
  const std::string cmd =
      "V={version}; printf '%s\\n' \"$V\" >> started; case \"$V\" in -o|last) cp bad_run/* {out};; *) "
      "cp good_run/* {out};; esac";
  const Finished run = bisect(with_runs(names, cmd));
  EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
  EXPECT_THAT(run.out, HasSubstr("first bad version is -o ("));
  EXPECT_FALSE(fs::exists(scratch_ / "hacked"));
  EXPECT_FALSE(fs::exists(scratch_.path().parent_path() / "msrun_bisect_escaped"));
}

TEST_F(RunBisect, WhatIsNotOfTheSearchIsLeftAlone) {
  fs::create_directories(scratch_ / "runs/2");
  write_file(scratch_ / "runs/2/precious", "mine");
  const Finished run = bisect(with_runs(versions_to(4), command(2)));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("is there and not of this search"));
  EXPECT_EQ(read_file(scratch_ / "runs/2/precious"), "mine");
}

// The log of a command goes into a file of its own: not where a link leads, nor into a FIFO that nobody reads.
TEST_F(RunBisect, ALogReplacesWhatHasItsName) {
  write_file(scratch_ / "victim", "precious");
  fs::create_directories(scratch_ / "runs");
  fs::create_symlink(scratch_ / "victim", scratch_ / "runs/1.log");
  fs::create_symlink(scratch_ / "none", scratch_ / "runs/2.log");
  ASSERT_EQ(mkfifo((scratch_.path() / "runs/3.log").c_str(), 0600), 0);
  for (const int planted : {1, 2, 3, 4}) {
    const Finished run = bisect(with_runs(versions_to(4), command(planted, "echo said")));
    EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
    fs::remove(scratch_ / "runs/bisect.json");
    for (const int version : {1, 2, 3, 4}) fs::remove_all(scratch_ / ("runs/" + std::to_string(version)));
  }
  EXPECT_EQ(read_file(scratch_ / "victim"), "precious");
  EXPECT_FALSE(fs::exists(scratch_ / "none"));
  EXPECT_EQ(read_file(scratch_ / "runs/1.log"), "said\n");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(scratch_ / "runs/3.log")));
}

TEST_F(RunBisect, VersionsMayBeCalledLikeFilesOfTheSearch) {
  const std::string cmd = "V={version}; case \"$V\" in last) cp bad_run/* {out};; *) cp good_run/* {out};; esac";
  for (const char* versions : {"1,1.log,last", "bisect.json,last"}) {
    fs::remove_all(scratch_ / "runs");
    const Finished run = bisect(with_runs(versions, cmd));
    EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
    EXPECT_THAT(run.out, HasSubstr("first bad version is last ("));
  }
}

TEST_F(RunBisect, WrongUseIsRefusedInOneLine) {
  const std::string good = scratch_ / "good_run";
  const std::vector<std::vector<std::string>> wrong_lines{
      {"--good", "1", "--bad", "2"},
      {"--good", "1", "--bad", "2", "--command", "no placeholders"},
      {"--good", "2", "--bad", "1", "--command", "{version} {out}"},
      {"--good", "x1", "--bad", "y2", "--command", "{version} {out}"},
      {"--good", good, "--bad", "3", "--command", "{version} {out}"},
      {"--good", "a", "--bad", "b", "--versions", "a,b,a", "--command", "{version} {out}"},
      {"--good", "a", "--bad", "b", "--versions", "./none", "--command", "{version} {out}"},
      {"--good", "a", "--bad", "b", "--versions", "versions.txt", "--command", "{version} {out}"},
      {"--good", good, "--bad", scratch_ / "bad_run", "--versions", good, "--command", "{version} {out}"},
      {"--good", good, "--bad", scratch_ / "bad_run", "--versions", "/dev/null", "--command", "{version} {out}"},
      {"--good", "a", "--bad", "b", "--versions", std::string(2000, 'v'), "--command", "{version} {out}"},
  };
  for (const std::vector<std::string>& words : wrong_lines) {
    std::vector<std::string> line = words;
    line.insert(line.end(), {"-o", scratch_ / "runs"});
    const Finished run = bisect(line);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace msrun::testing
