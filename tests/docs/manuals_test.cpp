// Help, manual pages and completions show the same facts: they are made of the same tables.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

// Commands as they are called.
const std::vector<Words>& commands() {
  static const std::vector<Words> all = [] {
    std::vector<Words> list{{"msrun"}, {"msrun", "run_overflow_check"}, {"msrun", "journal"}, {"msrun", "merge"}};
    std::istringstream rest(TOOL_NAMES);
    for (std::string name; std::getline(rest, name, ',');) list.push_back({name});
    return list;
  }();
  return all;
}

std::string said(const Words& command, const Words& more) {
  const TemporaryDirectory scratch;
  Words arguments(command.begin() + 1, command.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished run = Process(arguments, scratch.path(), {}, command.front()).wait();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return run.out;
}

std::string joined(const Words& words, const std::string& by) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : by) + word;
  return text;
}

// One blank in place of any white space.
std::string flat(const std::string& text) { return std::regex_replace(text, std::regex("\\s+"), " "); }

std::string unescaped(std::string text) {
  text = std::regex_replace(text, std::regex(R"(\\fB|\\fR|\\&)"), "");
  text = std::regex_replace(text, std::regex(R"(\\-)"), "-");
  return std::regex_replace(text, std::regex(R"(\\e)"), "\\");
}

// The paragraphs of a manual page that have a heading: options, commands, exit codes.
std::map<std::string, std::string> paragraphs(const std::string& page) {
  std::map<std::string, std::string> result;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line != ".TP") continue;
    std::string heading;
    std::string text;
    std::getline(lines, heading);
    std::getline(lines, text);
    result[unescaped(heading)] = unescaped(text);
  }
  return result;
}

std::set<std::string> spellings_in(const std::string& text) {
  static const std::regex spelling(R"((^|[\s,'"])(--?[A-Za-z][\w-]*))");
  std::set<std::string> result;
  for (std::sregex_iterator at(text.begin(), text.end(), spelling), end; at != end; ++at) result.insert((*at)[2]);
  return result;
}

TEST(Manuals, SayWhatTheHelpSays) {
  for (const Words& command : commands()) {
    const std::string help = said(command, {"--help"});
    const std::map<std::string, std::string> page = paragraphs(said(command, {"--print-manual"}));
    std::set<std::string> in_page;
    for (const auto& [heading, text] : page) {
      EXPECT_THAT(flat(help), HasSubstr(flat(heading + " " + text))) << joined(command, " ");
      if (heading.starts_with('-')) in_page.insert(heading);
    }
    std::set<std::string> in_help;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  -")) in_help.insert(line.substr(2, line.find("  ", 3) - 2));
    }
    EXPECT_EQ(in_page, in_help) << joined(command, " ");
  }
}

TEST(Manuals, CompletionsHaveTheOptionsOfTheHelp) {
  for (const Words& command : commands()) {
    std::set<std::string> options;
    std::istringstream lines(said(command, {"--help"}));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  -")) options.merge(spellings_in(line.substr(2, line.find("  ", 3) - 2)));
    }
    const std::string name = joined(command, " ");
    const std::string bash = said(command, {"--print-completion", "bash", name});
    EXPECT_EQ(spellings_in(bash.substr(0, bash.find('\n'))), options) << name;
    const std::string zsh = said(command, {"--print-completion", "zsh", name});
    std::set<std::string> of_zsh;
    static const std::regex entry(R"(\n  '\*(--?[A-Za-z][\w-]*)\[)");
    for (std::sregex_iterator at(zsh.begin(), zsh.end(), entry), end; at != end; ++at) of_zsh.insert((*at)[1]);
    EXPECT_EQ(of_zsh, options) << name;
    std::set<std::string> of_fish;
    std::istringstream fish(said(command, {"--print-completion", "fish", name}));
    static const std::regex flag(R"( -([lso]) ([A-Za-z][\w-]*))");
    for (std::string line; std::getline(fish, line);) {
      if (line.find(" -a ") != std::string::npos) continue;
      const std::string flags = line.substr(0, line.find(" -d "));
      for (std::sregex_iterator at(flags.begin(), flags.end(), flag), end; at != end; ++at) {
        of_fish.insert(((*at)[1] == "l" ? "--" : "-") + (*at)[2].str());
      }
    }
    EXPECT_EQ(of_fish, options) << name;
  }
}

// What the build installs, in bash: options of a tool behind its word, commands behind msrun.
TEST(Manuals, BashCompletesCommandsAndOptions) {
  const TemporaryDirectory scratch;
  const fs::path file = fs::path(programs()).parent_path() / "manuals" / "bash" / "msrun";
  const auto completed = [&](const std::string& words, int current) {
    const fs::path output = scratch / "output";
    const std::string script = "source '" + file.string() + "'; COMP_WORDS=(" + words +
                               "); COMP_CWORD=" + std::to_string(current) +
                               "; _msrun_complete; echo \"${COMPREPLY[*]}\"";
    write_file(scratch / "script", script);
    const std::string line = "bash '" + (scratch / "script").string() + "' > '" + output.string() + "'";
    EXPECT_EQ(std::system(line.c_str()), 0);
    return read_file(output);
  };
  EXPECT_EQ(completed("msrun parse --st", 2), "--stats\n");
  EXPECT_EQ(completed("msrun pa", 1), "parse\n");
  EXPECT_THAT(completed("msrun --li", 1), HasSubstr("--list-apis"));
  const fs::path pages = fs::path(programs()).parent_path() / "manuals" / "man1";
  EXPECT_TRUE(fs::exists(pages / "msrun.1"));
  EXPECT_TRUE(fs::exists(pages / "msrun-parse.1"));
  for (const fs::directory_entry& page : fs::directory_iterator(pages))
    EXPECT_TRUE(page.path().filename().string().starts_with("msrun")) << page.path();
}

bool has_shell(const std::string& name) { return std::system((name + " -c true >/dev/null 2>&1").c_str()) == 0; }

// The first words of the lines that a command prints.
std::set<std::string> candidates(const std::string& command, const TemporaryDirectory& scratch) {
  const fs::path output = scratch / "output";
  EXPECT_EQ(std::system((command + " > '" + output.string() + "'").c_str()), 0) << read_file(output);
  std::set<std::string> words;
  std::istringstream lines(read_file(output));
  for (std::string line; std::getline(lines, line);) words.insert(line.substr(0, line.find('\t')));
  return words;
}

// What fish offers for a line, of the file that has the program's name.
TEST(Manuals, FishCompletesCommandsAndOptions) {
  if (!has_shell("fish")) GTEST_SKIP() << "there is no fish";
  const TemporaryDirectory scratch;
  const std::string folder = (fs::path(programs()).parent_path() / "manuals" / "fish").string();
  const auto completed = [&](const std::string& line) {
    const std::string file = folder + "/" + line.substr(0, line.find(' ')) + ".fish";
    std::set<std::string> words = candidates("HOME='" + scratch.path().string() + "' fish --no-config -c \"source '" +
                                                 file + "'; complete -C'" + line + "'\"",
                                             scratch);
    // Where fish 4 finds few words that begin so, it offers those as well that have the letters in this order.
    const std::string typed = line.substr(line.rfind(' ') + 1);
    std::erase_if(words, [&](const std::string& word) { return !word.starts_with(typed); });
    return words;
  };
  EXPECT_THAT(completed("msrun --list-a"), ElementsAre("--list-apis"));
  EXPECT_THAT(completed("msrun pars"), ElementsAre("parse"));
  EXPECT_THAT(completed("msrun parse --st"), ElementsAre("--stats"));
  EXPECT_THAT(completed("msrun acc_check --list-a"), ElementsAre("--list-apis"));
  EXPECT_THAT(completed("msrun journal --j"), ElementsAre("--json"));
  EXPECT_THAT(completed("msrun -api_i"), ElementsAre("-api_info"));
}

// A terminal on which the line is typed; what zsh adds to its list stands behind "HIT:".
TEST(Manuals, ZshCompletesCommandsAndOptions) {
  if (!has_shell("zsh")) GTEST_SKIP() << "there is no zsh";
  const TemporaryDirectory scratch;
  const std::string folder = (fs::path(programs()).parent_path() / "manuals").string();
  const auto completed = [&](const std::string& line) {
    return candidates("HOME='" + scratch.path().string() + "' timeout 120 zsh -f '" + source_root() +
                          "/tests/docs/complete.zsh' '" + folder + "' '" + line + "'",
                      scratch);
  };
  EXPECT_THAT(completed("msrun --list-a"), ElementsAre("--list-apis"));
  EXPECT_THAT(completed("msrun pars"), ElementsAre("parse"));
  EXPECT_THAT(completed("msrun parse --st"), ElementsAre("--stats"));
  EXPECT_THAT(completed("msrun journal --j"), ElementsAre("--json"));
  EXPECT_THAT(completed("msrun -api_i"), ElementsAre("-api_info"));
}

}  // namespace
}  // namespace msrun::testing
