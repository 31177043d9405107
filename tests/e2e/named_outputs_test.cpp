// Outputs that lead to what a process has open, or to the file of a run, and what is printed where nobody can read it.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/support/spawned_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class NamedOutputs : public Untouched {
 protected:
  void run_whole() {
    ASSERT_EQ(
        msrun({"-api_info", dump("llama_fp32"), "-o", out(), "--only", "Torch.matmul.*"}, scratch_.path()).exit_code,
        0);
  }
  // The exit code of a line for bash.
  static int bash(const std::string& line) {
    const int status = std::system(("bash -c '" + line + "'").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string program(const std::string& name) { return programs() + "/" + name; }
  std::string in_scratch(const std::string& name) const { return (scratch_ / name).string(); }
};

TEST_F(NamedOutputs, AReportDoesNotTakeThePlaceOfStandardOutput) {
  run_whole();
  fs::create_symlink("/proc/self/fd/1", scratch_ / "stdout");
  EXPECT_NE(bash(program("run_report") + " " + out().string() + " -o " + in_scratch("stdout") + " 2> " +
                 in_scratch("said") + " | cat; exit ${PIPESTATUS[0]}"),
            0);
  EXPECT_TRUE(fs::is_symlink(scratch_ / "stdout"));
  EXPECT_THAT(read_file(scratch_ / "said"), HasSubstr("which a process has open"));
}

TEST_F(NamedOutputs, JunitIntoALogIsRefusedBeforeAnythingRuns) {
  write_file(scratch_ / "log", "kept\n");
  fs::create_symlink("/proc/self/fd/1", scratch_ / "stdout");
  EXPECT_NE(bash(program("msrun") + " -api_info " + dump("llama_fp32").string() + " -o " + out().string() +
                 " --junit " + in_scratch("stdout") + " >> " + in_scratch("log") + " 2> " + in_scratch("said")),
            0);
  EXPECT_THAT(read_file(scratch_ / "log"), StartsWith("kept\n"));
  EXPECT_THAT(read_file(scratch_ / "said") + read_file(scratch_ / "log"),
              HasSubstr("--junit " + in_scratch("stdout") + " leads to "));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(NamedOutputs, AnExportIsAddedToALog) {
  run_whole();
  fs::create_symlink("/proc/self/fd/1", scratch_ / "stdout");
  const std::string journal = only_journal(out()).string();
  for (const char* append : {" >> ", " | cat >> "}) {
    write_file(scratch_ / "log", "kept\n");
    EXPECT_EQ(bash(program("msrun") + " journal " + journal + " --export " + in_scratch("stdout") + append +
                   in_scratch("log")),
              0);
    EXPECT_THAT(read_file(scratch_ / "log"), StartsWith("kept\n{"));
    EXPECT_THAT(read_file(scratch_ / "log"), HasSubstr("Exported "));
  }
  EXPECT_TRUE(fs::is_symlink(scratch_ / "stdout"));
}

TEST_F(NamedOutputs, AnotherCommandDoesNotReplaceTheReportOfARun) {
  run_whole();
  const fs::path report = only_file(out(), "accuracy_checking_report_");
  const std::string page = read_file(report);
  ASSERT_EQ(msrun({"-api_info", dump("llama_fp32"), "-o", in_scratch("b"), "--only", "Torch.matmul.*"}, scratch_.path())
                .exit_code,
            0);
  const Finished diff = run_tool("run_diff", {in_scratch("b"), out(), "--html", report}, scratch_.path());
  EXPECT_EQ(diff.exit_code, 2);
  EXPECT_THAT(diff.err, HasSubstr("would overwrite the report"));
  const Finished other = run_tool("run_report", {in_scratch("b"), "-o", report}, scratch_.path());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_EQ(read_file(report), page);
  // Its own is made again.
  EXPECT_EQ(run_tool("run_report", {out(), "-o", report}, scratch_.path()).exit_code, 0);
  EXPECT_EQ(run_tool("run_report", {out()}, scratch_.path()).exit_code, 0);
}

TEST_F(NamedOutputs, FilesThatAreCompleteAreASuccessWhoeverReadsOfThem) {
  run_whole();
  const std::string report = program("run_report") + " " + out().string() + " -o " + in_scratch("page.html");
  const std::string merge = program("msrun") + " merge " + only_journal(out()).string() + " -o " + in_scratch("merged");
  for (const std::string& command : {report, merge}) {
    EXPECT_EQ(bash(command + " > /dev/full 2> " + in_scratch("said")), 0) << read_file(scratch_ / "said");
    EXPECT_THAT(read_file(scratch_ / "said"), HasSubstr("stdout cannot be written"));
    EXPECT_EQ(bash(command + " >&- 2> " + in_scratch("said")), 0) << read_file(scratch_ / "said");
  }
  EXPECT_TRUE(fs::exists(scratch_ / "page.html"));
}

TEST_F(NamedOutputs, WhatIsFoundAndNowhereElseIsNoSuccessWithoutStandardOutput) {
  const std::string parse = program("parse") + " " + test_data("/mindspore/10_real_data/dump_tensor_data");
  const std::string overflow = program("overflow_check") + " -i " + in_scratch("job") + " -o " + in_scratch("found");
  const std::string tensor = test_data("/mindspore/10_real_data/dump_tensor_data") + "/*";
  const std::string compare = "f=(" + tensor + "); " + program("tensor_compare") + " ${f[0]} ${f[0]}";
  fs::create_directories(scratch_ / "job" / "rank0");
  fs::copy(dump("llama_fp32"), scratch_ / "job" / "rank0");
  for (const std::string& command : {parse, overflow, compare}) {
    EXPECT_EQ(bash(command + " > /dev/null 2> " + in_scratch("said")), 0) << read_file(scratch_ / "said");
    EXPECT_EQ(bash(command + " >&- 2> " + in_scratch("said")), 2) << command;
    EXPECT_THAT(read_file(scratch_ / "said"), HasSubstr("stdout is closed"));
  }
}

}  // namespace
}  // namespace msrun::testing
