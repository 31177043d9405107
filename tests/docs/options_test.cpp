// The options that the documentation names are those that the programs' helps have.
#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "tests/docs/helps.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

// The first column of the tables below "## Options".
Options in_table(const std::string& page) {
  Options options;
  std::istringstream lines(page);
  bool is_there = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) is_there = line == "## Options";
    if (!is_there || !line.starts_with("| `-")) continue;
    options.merge(every_option(line.substr(0, line.find(" | "))));
  }
  for (const char* everywhere : {"-h", "--help", "--version"}) options.erase(everywhere);
  return options;
}

// Programs whose command is too common a word to be a program's name have it behind "run_".
std::string page_of(const std::string& tool) {
  const fs::path docs = fs::path(source_root()) / "docs";
  const bool has_own = fs::exists(docs / (tool + ".md")) || !tool.starts_with("run_");
  return (has_own ? tool : tool.substr(4)) + ".md";
}

TEST(Options, OfATablePageAreThoseOfTheHelp) {
  for (const std::string& tool : tools()) {
    const std::string page = read_file(fs::path(source_root()) / "docs" / page_of(tool));
    EXPECT_EQ(in_table(page), listed(help_of(tool))) << "docs/" << page_of(tool) << " and " << tool << " --help";
  }
}

// Whatever a page writes as code and looks like an option is one of ours, or of a program that is named here.
TEST(Options, ThatAPageNamesExist) {
  Options known{"-h",         "--help",    "--version", "--preset", "--build", "--gtest_filter",
                "--test-dir", "-j2",       "-n32",      "--repeat", "--quick", "--output-on-failure",
                "--save",     "--against", "-i",        "-j",       "-C",      "-max_total_time",
                "-kill",      "-9"};
  known.merge(listed(help_of("msrun")));
  known.merge(listed(help_of("msrun", {"help", "run_overflow_check"})));
  known.merge(listed(help_of("msrun", {"journal", "--help"})));
  known.merge(listed(help_of("msrun", {"merge", "--help"})));
  for (const std::string& tool : tools()) known.merge(listed(help_of(tool)));
  std::vector<fs::path> pages{fs::path(source_root()) / "README.md"};
  for (const fs::directory_entry& file : fs::directory_iterator(fs::path(source_root()) / "docs")) {
    pages.push_back(file.path());
  }
  static const std::regex code("`(-[^`]+)`");
  for (const fs::path& path : pages) {
    const std::string page = read_file(path);
    for (std::sregex_iterator at(page.begin(), page.end(), code), end; at != end; ++at) {
      for (const std::string& option : every_option((*at)[1])) {
        EXPECT_TRUE(known.contains(option)) << path.filename() << " names " << option << ", which no program has";
      }
    }
  }
}

}  // namespace
}  // namespace msrun::testing
