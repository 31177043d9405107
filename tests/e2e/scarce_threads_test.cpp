// Programs on a host that gives them no thread: they do alone what several would have done, and write the same.
#include <gmock/gmock.h>

#include <cerrno>
#include <map>
#include <regex>

#include "tests/e2e/preload/fault_state.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

class NoThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  }

  // With every thread from the first on refused; it must end by itself.
  Finished alone(const std::string& program, const std::vector<std::string>& words) const {
    write_file(scratch_ / "state", std::string(sizeof(FaultState), '\0'));
    Process run(words, scratch_.path(),
                {std::string("LD_PRELOAD=") + FAILING_CALLS, "MSRUN_FAULT_STATE=" + (scratch_ / "state").string(),
                 "MSRUN_FAULT_KIND=thread", "MSRUN_FAULT_AT=1", "MSRUN_FAULT_ALL=1",
                 "MSRUN_FAULT_ERRNO=" + std::to_string(EAGAIN)},
                program);
    EXPECT_TRUE(eventually(60, [&] { return !run.running(); })) << program << " hangs";
    if (run.running()) run.signal(SIGKILL);
    return run.wait();
  }

  // Names without their times, and contents.
  static std::map<std::string, std::string> files_in(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || entry.path().extension() == ".journal") continue;
      const std::string name = fs::relative(entry.path(), folder).string();
      files[std::regex_replace(name, std::regex("[0-9]{14}"), "TIME")] = read_file(entry.path());
    }
    return files;
  }

  void expect_same_files(const std::string& program, std::vector<std::string> words) const {
    std::map<std::string, std::string> expected;
    for (const bool is_alone : {false, true}) {
      const fs::path out = scratch_ / (is_alone ? "alone" : "usual");
      fs::remove_all(out);
      fs::create_directories(out);
      std::vector<std::string> all = words;
      all.insert(all.end(), {"-o", out});
      const Finished run = is_alone ? alone(program, all) : Process(all, scratch_.path(), {}, program).wait();
      EXPECT_EQ(run.exit_code, 0) << program << run.out << run.err;
      if (is_alone) {
        EXPECT_EQ(files_in(out), expected) << program;
      } else {
        expected = files_in(out);
      }
    }
    EXPECT_FALSE(expected.empty());
  }

  TemporaryDirectory scratch_;
};

TEST_F(NoThreads, PartsAreMerged) {
  for (const char* part : {"1/2", "2/2"}) {
    ASSERT_EQ(msrun({"-api_info", dump("cnn_fp32"), "-o", scratch_ / "parts", "--shard", part, "--no-report"},
                    scratch_.path())
                  .exit_code,
              0);
  }
  expect_same_files("msrun", {"merge", scratch_ / "parts"});
}

TEST_F(NoThreads, RecordingsAreCompared) {
  expect_same_files("dump_compare", {"-tp", test_data("/graph/dumps/batch/npu/step0/rank0/dump.json"), "-gp",
                                     test_data("/graph/dumps/batch/bench/step0/rank0/dump.json")});
}

TEST_F(NoThreads, GraphsAreBuilt) {
  expect_same_files("graph",
                    {"-tp", test_data("/graph/dumps/batch/npu"), "-gp", test_data("/graph/dumps/batch/bench")});
}

TEST_F(NoThreads, RanksAreSearched) {
  const Finished run =
      alone("overflow_check", {"-i", test_data("/graph/dumps/batch/npu/step0"), "-o", scratch_ / "out"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
}

}  // namespace
}  // namespace msrun::testing
