// Reports of the tools: they are there whole or not at all, whoever is killed, and never take the place of another
// file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/support/error_of.h"
#include "tests/tools/torchair_compare_support.h"
#include "tools/common/report_file.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ReportFiles, AppearWholeUnderAFreeName) {
  const TemporaryDirectory folder;
  folder.write("r_1.csv", "of another");
  {
    ReportFile file(folder.path().string(), "r_");
    file.write(std::string(3 << 20, 'x'));
    EXPECT_THAT(folder.names(), ElementsAre("r_1.csv"));
    EXPECT_FALSE(file.appear("r_1.csv"));
    EXPECT_TRUE(file.appear("r_2.csv"));
  }
  EXPECT_THAT(folder.names(), ElementsAre("r_1.csv", "r_2.csv"));
  EXPECT_EQ(read_file(folder / "r_1.csv"), "of another");
  EXPECT_EQ(read_file(folder / "r_2.csv"), std::string(3 << 20, 'x'));
  // A link that leads nowhere has the name, too.
  fs::create_symlink("nowhere", folder / "r_3.csv");
  ReportFile file(folder.path().string(), "r_");
  EXPECT_FALSE(file.appear("r_3.csv"));
  EXPECT_TRUE(file.appear("r_4.csv"));
  file.disappear("r_4.csv");
  EXPECT_FALSE(fs::exists(folder / "r_4.csv"));
}

TEST(ReportFiles, LeaveNothingWithoutAName) {
  const TemporaryDirectory folder;
  { ReportFile(folder.path().string(), "r_").write("text"); }
  EXPECT_THAT(folder.names(), IsEmpty());
}

// Where files cannot be without a name, those of killed processes are known by theirs.
TEST(ReportFiles, ThoseOfTheDeadAreRemovedByTheNext) {
  const TemporaryDirectory folder;
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  const std::string prefix = std::string(".r_.") + host + ".";
  const std::string ours = prefix + std::to_string(::getppid()) + ".1.tmp";
  for (const std::string& name : {prefix + "999999999.1.tmp", ours, std::string(".r_.elsewhere.999999999.1.tmp"),
                                  prefix + "x.1.tmp", std::string("r_1.csv.tmp")}) {
    folder.write(name, "left over");
  }
  { ReportFile file(folder.path().string(), "r_"); }
  const std::vector<std::string> names = folder.names();
  EXPECT_EQ(names.size(), 4U);
  EXPECT_EQ(std::count(names.begin(), names.end(), prefix + "999999999.1.tmp"), 0);
}

// Kills a tool before each of its operations on files below `out`, and looks at what is there.
struct Killed {
  std::string program;
  std::vector<std::string> arguments;
  std::size_t reports;  // of a run that is not killed
};

void expect_whole_reports(const Killed& tool, const char* file_system) {
  const TemporaryDirectory scratch;
  const fs::path out = scratch / "out";
  std::vector<std::string> arguments = tool.arguments;
  std::replace(arguments.begin(), arguments.end(), std::string("OUT"), out.string());
  const auto contents = [&] {
    std::multiset<std::string> texts;
    for (const auto& [name, bytes] : files_in(out)) {
      if (!name.starts_with('.')) texts.insert(bytes);
    }
    return texts;
  };
  fs::create_directories(out);
  ASSERT_EQ(run_tool(tool.program, arguments, scratch.path()).exit_code, 0);
  const std::multiset<std::string> expected = contents();
  ASSERT_EQ(expected.size(), tool.reports);
  int killed = 0;
  for (int at = 1;; ++at) {
    SCOPED_TRACE(tool.program + " " + file_system + " before operation " + std::to_string(at));
    ASSERT_LT(at, 100);
    fs::remove_all(out);
    fs::create_directories(out);
    const Finished run = Process(arguments, scratch.path(),
                                 {std::string("LD_PRELOAD=") + HOSTILE_FILES, "MSRUN_HOSTILE_DIR=" + out.string(),
                                  "MSRUN_HOSTILE_AT=" + std::to_string(at), "MSRUN_HOSTILE_KILL=1", file_system},
                                 tool.program)
                             .wait();
    const std::multiset<std::string> found = contents();
    EXPECT_TRUE(std::includes(expected.begin(), expected.end(), found.begin(), found.end()));
    // Files without a name leave nothing.
    EXPECT_TRUE(*file_system != '\0' || files_in(out).size() == found.size());
    if (run.exit_code == 0) break;
    ASSERT_EQ(run.exit_code, 128 + SIGKILL) << run.err;
    ++killed;
    // The next one cleans up, and its reports are complete.
    ASSERT_EQ(run_tool(tool.program, arguments, scratch.path()).exit_code, 0);
    EXPECT_EQ(files_in(out).size(), found.size() + expected.size());
  }
  EXPECT_GT(killed, 2);
}

// What a tool prints must not end in a report that got the number of a descriptor which the tool was started without.
TEST(ReportFiles, HoldNothingThatIsPrintedWhereStandardDescriptorsAreClosed) {
  const fs::path cases = fs::path(test_data()) / "api_precision_compare";
  for (const std::string& command :
       {"torchair_compare -tp '" + ge_on.string() + "' -gp '" + fx.string() + "' --threads 1",
        "api_precision_compare -npu '" + (cases / "npu_details.csv").string() + "' -gpu '" +
            (cases / "gpu_details.csv").string() + "'"}) {
    const TemporaryDirectory scratch;
    const auto reports = [&](const std::string& folder, const std::string& closed) {
      fs::create_directories(scratch / folder);
      const std::string line =
          "'" + programs() + "'/" + command + " -o '" + (scratch / folder).string() + "' " + closed;
      EXPECT_EQ(std::system(line.c_str()), 0) << line;  // NOLINT(cert-env33-c): the shell closes the descriptors
      std::multiset<std::string> texts;
      for (const auto& [name, bytes] : files_in(scratch / folder)) texts.insert(bytes);
      return texts;
    };
    const std::multiset<std::string> expected = reports("open", "> /dev/null 2>&1");
    EXPECT_EQ(expected.size(), 2U);
    EXPECT_EQ(reports("closed", "<&- >&- 2>&-"), expected);
  }
}

TEST(ReportFiles, AreWholeWheneverAToolIsKilled) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  const fs::path cases = fs::path(test_data()) / "api_precision_compare";
  const std::vector<Killed> tools{
      {"torchair_compare", {"-tp", ge_on.string(), "-gp", fx.string(), "-o", "OUT", "--threads", "1"}, 2},
      {"api_precision_compare",
       {"-npu", (cases / "npu_details.csv").string(), "-gpu", (cases / "gpu_details.csv").string(), "-o", "OUT"},
       2}};
  for (const Killed& tool : tools) {
    expect_whole_reports(tool, "");
    expect_whole_reports(tool, "MSRUN_HOSTILE_OLD=1");
  }
}

}  // namespace
}  // namespace msrun::testing
