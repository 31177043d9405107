// What a run that is continued takes over from its journal: each option that the line does not give, but for those that
// something on the line stands in for.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/support/torch_python.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TakenOver : public Untouched {
 protected:
  void begin(std::vector<std::string> words) {
    words.insert(words.end(), {"-api_info", dump("llama_fp32"), "-o", out()});
    const Finished finished = msrun(words, scratch_.path());
    ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  }
  Finished go_on(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"-csv_path", only_file(out(), "accuracy_checking_result_")};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }
  // The line that tells of it.
  std::string taken_with(const std::vector<std::string>& more) const {
    const Finished finished = go_on(more);
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    std::istringstream lines(finished.out);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find("From the journal: ");
      if (at != std::string::npos) return line.substr(at) + " ";
    }
    return {};
  }
};

TEST_F(TakenOver, DevicesStayWithOtherThreadsAndThreadsWithOtherDevices) {
  begin({"-d", "0", "1", "2", "3", "-n", "8"});
  EXPECT_THAT(taken_with({"-n", "16"}), HasSubstr(" -d 0 1 2 3 "));
  EXPECT_THAT(taken_with({"-d", "5", "6"}), AllOf(HasSubstr(" -n 8 "), Not(HasSubstr(" -d "))));
}

// acc_check has one thread unless more are given.
TEST_F(TakenOver, DevicesThatAreGivenAllRun) {
  begin({"acc_check"});
  EXPECT_THAT(taken_with({"-d", "0", "1"}), Not(HasSubstr(" -n 1 ")));
  EXPECT_THAT(go_on({"-d", "0", "1"}).out, Not(HasSubstr("less than one thread per device")));
}

TEST_F(TakenOver, WhatIsSaidOfABackendGoesWithIt) {
  begin({"--sim-fault", "Torch.matmul.*=wrong-block", "--torch-workers", "2", "--torch-lanes", "3"});
  EXPECT_THAT(taken_with({"-j"}), AllOf(HasSubstr(" --backend sim "), HasSubstr("=wrong-block"),
                                        HasSubstr(" --torch-workers 2 "), HasSubstr(" --torch-lanes 3 ")));
  EXPECT_THAT(taken_with({"--torch-lanes", "4"}),
              AllOf(HasSubstr(" --backend sim "), HasSubstr("=wrong-block"), HasSubstr(" --torch-workers "),
                    Not(HasSubstr(" --torch-lanes "))));
  EXPECT_THAT(taken_with({"--backend", "sim"}), HasSubstr("=wrong-block"));
  EXPECT_THAT(taken_with({"--sim-fault", "Tensor.*=wrong-block"}),
              AllOf(HasSubstr(" --backend sim "), Not(HasSubstr("Torch.matmul"))));
}

// A journal may be anybody's: what it would run, load or be configured by is given again.
TEST_F(TakenOver, WhatAJournalDoesNotChooseIsGivenAgain) {
  const std::string config = (scratch_ / "config.json").string();
  write_file(config, R"({"acc_check": {"white_list": ["matmul"]}})");
  begin({"--backend", "sim", "--python", "no-such-python", "-config", config});
  const Finished refused = go_on({});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("-csv_path: give --python and -config again; the run was begun with --python "
                                     "no-such-python -config " +
                                     config));
  EXPECT_EQ(go_on({"--python", "no-such-python"}).exit_code, 2);
  EXPECT_EQ(go_on({"--python", "another", "-config", config}).exit_code, 0);
  // What is said of another backend is not asked for.
  EXPECT_THAT(go_on({"--backend", "torch"}).err, HasSubstr("give -config again"));
}

TEST_F(TakenOver, NoProgramOfAJournalRuns) {
  if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  const fs::path marker = scratch_ / "ran";
  const std::string program = (scratch_ / "python").string();
  write_file(program, "#!/bin/sh\n: > " + marker.string() + "\nexec " + torch_python() + " \"$@\"\n");
  fs::permissions(program, fs::perms::owner_all);
  const Finished begun = msrun({"--backend", "torch:cpu", "--python", program, "--only", "Torch.matmul.0", "-api_info",
                                dump("llama_fp32"), "-o", out()},
                               scratch_.path());
  ASSERT_EQ(begun.exit_code, 0) << begun.out << begun.err;
  EXPECT_TRUE(fs::remove(marker)) << begun.out << begun.err;
  EXPECT_EQ(go_on({}).exit_code, 2);
  const Finished shrunk =
      msrun({"shrink", "--api", "Torch.matmul.0", "-i", out(), "-o", scratch_ / "small"}, scratch_.path());
  EXPECT_EQ(shrunk.exit_code, 2);
  EXPECT_THAT(shrunk.err, HasSubstr("-i: give --python again"));
  EXPECT_THAT(msrun({"merge", out(), "-o", scratch_ / "merged"}, scratch_.path()).out, Not(HasSubstr(program)));
  EXPECT_FALSE(fs::exists(marker));
}

TEST_F(TakenOver, SharingStaysWithAnOptionOfIt) {
  begin({"--steal", "--leases", "3"});
  EXPECT_THAT(taken_with({"--lease-timeout", "5"}), AllOf(HasSubstr(" --steal "), HasSubstr(" --leases 3 ")));
  EXPECT_THAT(go_on({"--shard", "1/2"}).err, HasSubstr("shard (\"stolen\" then, \"1/2\" now)"));
}

TEST_F(TakenOver, TheReportIsAsTheLineSays) {
  begin({"--no-report"});
  EXPECT_THAT(taken_with({}), HasSubstr(" --no-report "));
  EXPECT_THAT(taken_with({"--report"}), Not(HasSubstr(" --no-report ")));
  const fs::path report = only_file(out(), "accuracy_checking_report_");
  ASSERT_TRUE(fs::exists(report));
  fs::remove_all(out());
  begin({"--report"});
  EXPECT_EQ(go_on({"--no-report"}).exit_code, 0);
}

TEST_F(TakenOver, SoIsHowManyFailuresStopIt) {
  begin({"--max-failures", "7"});
  EXPECT_THAT(taken_with({}), HasSubstr(" --max-failures 7 "));
  EXPECT_THAT(taken_with({"--max-failures", "9"}), Not(HasSubstr(" --max-failures ")));
}

}  // namespace
}  // namespace msrun::testing
