// What all programs have in common for whoever types their command lines: version, layout of the help, suggestions for
// what is mistyped, exit codes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Program {
  const char* name;
  const char* mistyped;
  const char* meant;
};

class FrontEnd : public ::testing::TestWithParam<Program> {};

TEST_P(FrontEnd, SaysItsVersion) {
  const TemporaryDirectory scratch;
  for (const char* word : {"--version", "-version"}) {
    const Finished run = run_tool(GetParam().name, {word}, scratch.path());
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.out, std::string(GetParam().name) + " 0.2.0\n");
    EXPECT_EQ(run.err, "");
  }
}

TEST_P(FrontEnd, LaysOutItsHelp) {
  const TemporaryDirectory scratch;
  const Finished help = run_tool(GetParam().name, {"--nonsense", "--help"}, scratch.path());
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  std::size_t at = 0;
  const std::string usage = "\n\nUsage: " + std::string(GetParam().name) + " ";
  for (const std::string& part : {usage, std::string("\n\nExamples:\n  "), std::string("\n\nHelp:\n  -h, --help  "),
                                  std::string("\n  --version  "), std::string("\n\nExit codes:\n  0  "),
                                  std::string("\n  2  "), std::string("\n  4  internal error\n")}) {
    at = help.out.find(part, at);
    EXPECT_NE(at, std::string::npos) << part << help.out;
    at = std::min(at, help.out.size());
  }
  std::istringstream lines(help.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST_P(FrontEnd, FailsWhereItsHelpCannotBeWritten) {
  const std::string line = "'" + programs() + "/" + GetParam().name + "' --help > /dev/full 2> /dev/null";
  const int status = std::system(line.c_str());  // NOLINT(cert-env33-c): the shell opens the device
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

// What is printed is a part of the result: a run that lost it is none that succeeded.
TEST(StandardOutput, ThatCannotBeWrittenFailsARun) {
  const TemporaryDirectory scratch;
  const std::string out = " -o '" + (scratch / "out").string() + "' > /dev/full 2> /dev/null";
  const auto in = [](const std::string& path) { return " '" + test_data("/" + path) + "'"; };
  const std::string pair = "dump_compare/01_stat_fp32/";
  const std::string trees = "torchair/trees/";
  for (const std::string& line :
       {"dump_compare -tp" + in(pair + "target") + " -gp" + in(pair + "golden"),
        "overflow_check -i" + in("dump_compare/11_overflow/after_comm/step0"),
        "api_precision_compare -npu" + in("api_precision_compare/npu_details.csv") + " -gpu" +
            in("api_precision_compare/gpu_details.csv"),
        "torchair_compare -tp" + in(trees + "ge_on/msprobe_ge_dump") + " -gp" + in(trees + "ge_off/msprobe_ge_dump")}) {
    // NOLINTNEXTLINE(cert-env33-c): the shell opens the device
    const int status = std::system((programs() + "/" + line + out).c_str());
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 2) << line;
  }
}

// Whoever reads may go away: what was to be done is done, and the program ends by itself.
TEST_P(FrontEnd, IsNotEndedByAReaderThatGoesAway) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::close(ends[0]);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGPIPE, SIG_DFL);
    ::dup2(ends[1], STDOUT_FILENO);
    const std::string program = programs() + "/" + GetParam().name;
    ::execl(program.c_str(), program.c_str(), "--help", nullptr);
    _exit(127);
  }
  ::close(ends[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(FrontEnd, SuggestsWhatAMistypedOptionMeant) {
  const TemporaryDirectory scratch;
  const auto& [name, mistyped, meant] = GetParam();
  const Finished run = run_tool(name, {mistyped, "x"}, scratch.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, std::string(name) + ": unknown option " + mistyped + ", did you mean " + meant + "?\n");
}

TEST_P(FrontEnd, PutsHostileWordsIntoOneCleanLine) {
  const TemporaryDirectory scratch;
  const Finished run = run_tool(GetParam().name, {"--x\n\x1b[2J\x7Fqqqqqqqqqqqqq"}, scratch.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, StartsWith(std::string(GetParam().name) + ": unknown option --x__[2J_q"));
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, FrontEnd,
    ::testing::Values(Program{"msrun", "-api_inf", "-api_info"},
                      Program{"api_precision_compare", "-npu_csv", "--npu_csv_path"},
                      Program{"code_mapping", "--dump-dat", "--dump_data"},
                      Program{"op_generate", "--config_inpu", "--config_input"}, Program{"parse", "--stat", "--stats"},
                      Program{"run_bisect", "--goo", "--good"}, Program{"run_diff", "--htm", "--html"},
                      Program{"shrink", "--tims", "--times"}, Program{"tensor_compare", "--standart", "--standard"},
                      Program{"torchair_compare", "--target-pat", "--target_path"},
                      Program{"dump_compare", "--target-pat", "--target_path"},
                      Program{"overflow_check", "--input-pat", "--input_path"},
                      Program{"torchair_convert", "--verbos", "--verbose"}),
    [](const auto& program) { return program.param.name; });

TEST(FrontEndOfCommands, ToolsAreHelpedAndMistypedThroughMsrun) {
  const TemporaryDirectory scratch;
  const auto run = [&](const std::vector<std::string>& words) { return msrun(words, scratch.path()); };
  EXPECT_THAT(run({"help", "compare"}).out, HasSubstr("Usage: dump_compare "));
  for (const char* mode : {"--mode=torchair", "-m=torchair"}) {
    EXPECT_THAT(run({"compare", mode, "--help"}).out, HasSubstr("Usage: torchair_compare "));
  }
  EXPECT_THAT(run({"compare", "--mode", "torchair", "--help"}).out, HasSubstr("Usage: torchair_compare "));
  EXPECT_THAT(run({"compare", "-m", "auto", "--help"}).out, HasSubstr("Usage: dump_compare "));
  EXPECT_THAT(run({"convert", "--version"}).out, StartsWith("torchair_convert 0.2.0"));
  const Finished jurnal = run({"jurnal"});
  EXPECT_EQ(jurnal.exit_code, 2);
  EXPECT_EQ(jurnal.err, "msrun: unknown command jurnal, did you mean journal?\n");
  EXPECT_EQ(run({"convrt", "dir"}).err, "msrun: unknown command convrt, did you mean convert?\n");
}

}  // namespace
}  // namespace msrun::testing
