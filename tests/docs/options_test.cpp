// The options that the documentation names are those that the programs' helps have.
#include <gmock/gmock.h>

#include <iostream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/docs/page.h"
#include "tests/support/msrun_process.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using Options = std::set<std::string>;

Options every_option(const std::string& text) {
  static const std::regex option(R"((^|[\s,`(\[|])(--?[A-Za-z][\w-]*))");
  Options options;
  for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) options.insert((*at)[2]);
  return options;
}

// What a help lists: the spellings at the beginning of its lines.
Options listed(const std::string& help) {
  Options options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::string spellings = line.substr(0, line.find("  ", 3));
    options.merge(every_option(spellings));
  }
  for (const char* everywhere : {"-h", "--help", "--version"}) options.erase(everywhere);
  return options;
}

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

std::string help_of(const std::string& program, const std::vector<std::string>& arguments = {"--help"}) {
  const TemporaryDirectory scratch;
  return Process(arguments, scratch.path(), {}, program).wait().out;
}

const std::vector<std::string>& tools() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    std::istringstream rest(TOOL_NAMES);
    for (std::string name; std::getline(rest, name, ',');) list.push_back(name);
    return list;
  }();
  return names;
}

TEST(Options, OfATablePageAreThoseOfTheHelp) {
  for (const std::string& tool : tools()) {
    const std::string page = read_file(fs::path(source_root()) / "docs" / (tool + ".md"));
    EXPECT_EQ(in_table(page), listed(help_of(tool))) << "docs/" << tool << ".md and " << tool << " --help";
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
