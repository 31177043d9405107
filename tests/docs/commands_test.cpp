// Every command of README.md and of the pages in docs/ runs as the page shows it, one after the other in an empty
// folder that looks like the top of the source tree, and prints what the page says. With MSRUN_DOCS_UPDATE set the
// pages are changed to what is printed instead.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "tests/docs/page.h"
#include "tests/support/msrun_process.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::IsEmpty;

constexpr int deadline = 200;  // seconds for one command, beside others that compute

struct Ran {
  int exit_code = -1;
  std::vector<std::string> lines;  // of both streams, as a terminal shows them
};

std::vector<fs::path> pages() {
  std::vector<fs::path> paths{fs::path(source_root()) / "README.md"};
  for (const fs::directory_entry& file : fs::directory_iterator(fs::path(source_root()) / "docs")) {
    if (file.path().extension() == ".md") paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Where the commands of a page run: the sources' tests/ and the programs where a build puts them.
class Workplace {
 public:
  Workplace() {
    fs::create_directories(folder_ / "tree" / "build");
    fs::create_directory_symlink(programs(), folder_ / "tree" / "build" / "bin");
    fs::create_directory_symlink(fs::path(source_root()) / "tests", folder_ / "tree" / "tests");
  }

  Ran run(const std::string& command) const {
    write_file(folder_ / "command", command);
    const std::string shell = "cd '" + (folder_ / "tree").string() + "' && export PATH='" + programs() +
                              "':\"$PATH\" TZ=UTC LC_ALL=C.UTF-8 && exec timeout " + std::to_string(deadline) +
                              " bash '" + (folder_ / "command").string() + "' > '" + (folder_ / "output").string() +
                              "' 2>&1 < /dev/null";
    const int status = std::system(shell.c_str());
    Ran ran;
    ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    std::istringstream output(read_file(folder_ / "output"));
    for (std::string line; std::getline(output, line);) {
      // Neither the mark of UTF-8 nor the ends of a CSV's lines are to be seen.
      if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
      line.erase(line.find_last_not_of(" \r") + 1);
      // What a run tells of its progress depends on how fast the host is.
      if (!line.starts_with("progress ")) ran.lines.push_back(line);
    }
    return ran;
  }

 private:
  TemporaryDirectory folder_;
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Commands : public ::testing::TestWithParam<fs::path> {};

TEST_P(Commands, PrintWhatThePageShows) {
  const bool update = std::getenv("MSRUN_DOCS_UPDATE") != nullptr;
  Page page = parse_page(read_file(GetParam()));
  EXPECT_THAT(page.problems, IsEmpty());
  const Workplace workplace;
  std::vector<std::pair<const ShownCommand*, std::vector<std::string>>> changed;
  std::size_t hidden = 0;
  for (const ShownCommand& command : page.commands) {
    SCOPED_TRACE(GetParam().filename().string() + " line " + std::to_string(command.first_line + 1) + ": " +
                 command.text);
    hidden += command.is_hidden ? 1 : 0;
    const Ran ran = workplace.run(command.text);
    EXPECT_EQ(ran.exit_code, command.exit_code) << joined(ran.lines);
    // The numbers of the pages are those of optimised arithmetic.
    if (command.is_hidden || sanitized || is_shown(command.output, ran.lines)) continue;
    if (update) {
      changed.emplace_back(&command, shortened_like(command.output, ran.lines));
    } else {
      ADD_FAILURE() << "prints\n" << joined(ran.lines) << "where the page shows\n" << joined(command.output);
    }
  }
  // From the last to the first, so that the lines of those before stay where they are.
  for (auto change = changed.rbegin(); change != changed.rend(); ++change) {
    const auto& [command, output] = *change;
    const auto begin = page.lines.begin() + static_cast<std::ptrdiff_t>(command->output_line);
    const auto at = page.lines.erase(begin, begin + static_cast<std::ptrdiff_t>(command->output.size()));
    page.lines.insert(at, output.begin(), output.end());
  }
  if (!changed.empty()) write_file(GetParam(), joined(page.lines));
  std::cout << page.commands.size() - hidden << " commands run, " << page.unrun.size()
            << " blocks cannot be run here\n";
  for (const UnrunBlock& block : page.unrun) std::cout << "  line " << block.line + 1 << ": " << block.reason << '\n';
}

std::string name_of(const ::testing::TestParamInfo<fs::path>& page) { return page.param.stem().string(); }

INSTANTIATE_TEST_SUITE_P(Docs, Commands, ::testing::ValuesIn(pages()), name_of);

// Neither too little nor too much is taken for the same.
TEST(Page, SaysWhichOutputItShows) {
  EXPECT_TRUE(is_shown({"a", "...", "d"}, {"a", "b", "c", "d"}));
  EXPECT_TRUE(is_shown({"..."}, {}));
  EXPECT_TRUE(is_shown({"2026-11-21 12:47:15 (15177) [INFO] in 0:00, x_20261121124715.csv"},
                       {"2027-01-02 01:02:03 (7) [INFO] in 1:02, x_20270102010203.csv"}));
  EXPECT_TRUE(is_shown({"from a/…/b to c"}, {"from a/x/y/b to c"}));
  EXPECT_FALSE(is_shown({"from a/…/b to c"}, {"from a/x/y/b to d"}));
  EXPECT_FALSE(is_shown({"a", "...", "d"}, {"a", "b", "c"}));
  EXPECT_FALSE(is_shown({}, {"a"}));
  EXPECT_FALSE(is_shown({"pass 38"}, {"pass 39"}));
}

TEST(Page, IsShortenedWhereItWas) {
  EXPECT_EQ(shortened_like({"a", "...", "z"}, {"b", "c", "d", "e"}), (std::vector<std::string>{"b", "...", "e"}));
  EXPECT_EQ(shortened_like({"a"}, {"b", "c"}), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(shortened_like({"a", "...", "m", "...", "z"}, {"b", "m", "d", "e"}),
            (std::vector<std::string>{"b", "...", "m", "...", "e"}));
}

TEST(Page, TellsItsOwnFaults) {
  EXPECT_EQ(parse_page("<!-- not run: x -->\n```console\n$ a\n```\n").problems.size(), 1U);
  EXPECT_EQ(parse_page("    build/bin/msrun -api_info x\n").problems.size(), 1U);
  EXPECT_EQ(parse_page("```\nx\n```\n").problems.size(), 1U);
  EXPECT_EQ(parse_page("<!-- not run: needs an NPU -->\n").problems.size(), 1U);
  const Page page = parse_page("<!-- run: b -->\n```console\n$ a \\\n  c\nout\n$ d\n```\n");
  EXPECT_THAT(page.problems, IsEmpty());
  ASSERT_EQ(page.commands.size(), 3U);
  EXPECT_EQ(page.commands[1].text, "a \\\n  c");
  EXPECT_EQ(page.commands[1].output, std::vector<std::string>{"out"});
}

}  // namespace
}  // namespace msrun::testing
