// What `cmake --install` puts into a folder works from there, and from wherever that folder is moved to.
#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

class Installed : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string build = fs::path(programs()).parent_path();
    const std::string log = scratch_.file("install.log");
    const std::string command = std::string(CMAKE_PROGRAM) + " --install '" + build + "' --prefix '" + prefix("first") +
                                "' >'" + log + "' 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << read_file(log);
  }

  std::string prefix(const std::string& name) const { return (scratch_ / name).string(); }

  // A run of the program below the prefix; nothing outside of it is in its environment.
  Finished run(const std::string& where, const std::string& program, const std::vector<std::string>& arguments) {
    return Process(arguments, scratch_.path(), {"LD_LIBRARY_PATH=", "MSRUN_PYTHON=" + torch_python()},
                   prefix(where) + "/bin/" + program)
        .wait();
  }

  std::string check(const std::string& where, const std::string& backend) {
    const fs::path out = scratch_ / (where + backend);
    const Finished finished =
        run(where, "msrun",
            {"-api_info", dump("cnn_fp32"), "-o", out, "-n", "2", "--backend", backend, "--only", "Functional.relu.*"});
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    const Rows rows = read_csv(only_file(out, "accuracy_checking_result_"));
    EXPECT_GT(rows.size(), 2U);
    for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i][1], "pass") << rows[i][0];
    return read_file(only_file(out, "accuracy_checking_details_"));
  }

  const TemporaryDirectory scratch_;
};

TEST_F(Installed, RunsFromAnyPrefix) {
  const std::string details = check("first", "sim");
  fs::rename(prefix("first"), prefix("second place"));
  EXPECT_EQ(check("second place", "sim"), details);
  // Commands are programs beside msrun.
  const Finished help = run("second place", "msrun", {"api_precision_compare", "--help"});
  EXPECT_EQ(help.exit_code, 0) << help.err;
}

// Where pandoc has made them, the pages for a browser are installed with all that they show.
TEST_F(Installed, HasPagesForABrowser) {
  const fs::path pages = fs::path(prefix("first")) / "share/doc/msrun/html";
  if (!fs::exists(fs::path(programs()).parent_path() / "docs_html/index.html")) GTEST_SKIP() << "there is no pandoc";
  for (const char* name : {"index.html", "style.css", "docs/getting_started.html", "docs/images/report.png",
                           "docs/events.schema.json", "journal/format.html"}) {
    EXPECT_TRUE(fs::exists(pages / name)) << name;
  }
}

// The names of tools are common words, which bin/ is not the place for.
TEST_F(Installed, HasOneProgramInBin) {
  std::vector<std::string> names;
  for (const fs::directory_entry& file : fs::directory_iterator(scratch_ / "first" / "bin"))
    names.push_back(file.path().filename());
  EXPECT_THAT(names, ::testing::ElementsAre("msrun"));
  for (const fs::directory_entry& page : fs::directory_iterator(scratch_ / "first" / "share" / "man" / "man1"))
    EXPECT_TRUE(page.path().filename().string().starts_with("msrun")) << page.path();
}

// A tool starts others in turn: shrink starts msrun.
TEST_F(Installed, ToolsFindEachOther) {
  const fs::path out = scratch_ / "small";
  const Finished finished = run("first", "msrun",
                                {"shrink", "--api", "Functional.relu.0", "-i", dump("cnn_fp32"), "-o", out, "--backend",
                                 "sim", "--sim-fault", "Functional.relu.*=wrong-element"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_TRUE(fs::exists(out / "smallest" / "dump.json")) << finished.out << finished.err;
}

// A recording comes from anyone, and so does what lies beside it: a library of a known name in the folder that a
// program is started in must not be loaded.
void expect_no_library_from_here(const std::string& program) {
  const TemporaryDirectory here;
  const Finished finished = Process({"--version"}, here.path(), {"LD_LIBRARY_PATH=", "LD_DEBUG=libs"}, program).wait();
  EXPECT_EQ(finished.exit_code, 0) << program;
  std::size_t tried = 0;
  std::istringstream lines(finished.err);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("trying file=");
    if (at == std::string::npos) continue;
    ++tried;
    EXPECT_EQ(line.substr(at + 12, 1), "/") << program << ": " << line;
  }
  EXPECT_GT(tried, 0U) << program << ": " << finished.err;
}

TEST_F(Installed, LoadsNoLibraryFromTheFolderItIsStartedIn) {
  const std::string first = prefix("first");
  for (const std::string& folder : {first + "/lib/msrun/", programs() + "/"}) {
    for (const char* tool : {"graph", "shrink", "dump_compare", "parse"}) expect_no_library_from_here(folder + tool);
  }
  expect_no_library_from_here(first + "/bin/msrun");
  expect_no_library_from_here(programs() + "/msrun");
}

TEST_F(Installed, FindsItsWorker) {
  if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  const std::string details = check("first", "torch:cpu");
  fs::rename(prefix("first"), prefix("second place"));
  EXPECT_EQ(check("second place", "torch:cpu"), details);
  fs::remove(prefix("second place") + "/lib/msrun/msrun_torch_worker/__main__.py");
  const Finished refused =
      run("second place", "msrun", {"-api_info", dump("cnn_fp32"), "-o", scratch_ / "none", "--backend", "torch:cpu"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("The files of the torch worker are not in " + prefix("second place")));
}

TEST_F(Installed, BringsTheWorkersOfAllFrameworks) {
  for (const char* package : {"msrun_worker", "msrun_torch_worker", "msrun_mindspore_worker"}) {
    EXPECT_TRUE(fs::exists(prefix("first") + "/lib/msrun/" + package + "/__init__.py")) << package;
  }
}

TEST_F(Installed, BringsPagesAndTheHeaderOfPlugins) {
  const fs::path first = prefix("first");
  for (const char* file : {"share/doc/msrun/README.md", "share/doc/msrun/LICENSE", "share/doc/msrun/docs/devices.md",
                           "share/doc/msrun/docs/plugin_example.c", "include/msrun/msrun_plugin.h"}) {
    EXPECT_TRUE(fs::exists(first / file)) << file;
  }
  // Nothing that only the build needs.
  for (const auto& entry : fs::recursive_directory_iterator(first)) {
    EXPECT_NE(entry.path().extension(), ".a") << entry.path();
    EXPECT_NE(entry.path().extension(), ".pyc") << entry.path();
  }
  const std::string compile = "cc -shared -fPIC -I '" + prefix("first") + "/include/msrun' '" + prefix("first") +
                              "/share/doc/msrun/docs/plugin_example.c' -o '" + prefix("example.so") + "'";
  ASSERT_EQ(std::system(compile.c_str()), 0);
  const Finished finished =
      run("first", "msrun",
          {"-api_info", dump("cnn_fp32"), "-o", scratch_ / "out", "--backend", "plugin:" + prefix("example.so")});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

}  // namespace
}  // namespace msrun::testing
