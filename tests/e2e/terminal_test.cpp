// What a terminal shows while a run goes on, and in which colours.
#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "kernels/base/text.h"
#include "tests/support/sanitized.h"
#include "tests/support/spawned_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Every state of the status line.
std::vector<std::string> status_lines(const std::string& text) {
  std::vector<std::string> lines;
  const std::string redraw = "\r\x1b[K";
  for (std::size_t at = text.find(redraw); at != std::string::npos; at = text.find(redraw, at + 1)) {
    const std::size_t begin = at + redraw.size();
    const std::string line = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
    if (line.find(" left") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

class OnATerminal : public Untouched {
 protected:
  // Text and exit code of a run with a call that takes a second and is given up.
  std::pair<std::string, std::optional<int>> run_with(const std::vector<std::string>& more,
                                                      const std::vector<std::string>& environment,
                                                      unsigned short columns = 80) {
    std::vector<std::string> words{
        "-api_info",   dump("llama_fp32"),       "-n", "4", "-o", out() / std::to_string(++runs_),
        "--sim-fault", "Torch.matmul.*=acc-fp16"};
    words.insert(words.end(), more.begin(), more.end());
    Terminal terminal(columns);
    SpawnedProcess run(words, {terminal.descriptor(), terminal.descriptor()}, scratch_.path(), environment);
    eventually(60, [&] {
      terminal.text();
      return !run.running();
    });
    return {terminal.text(), run.wait(0)};
  }

 private:
  int runs_ = 0;
};

const std::vector<std::string> hanging{
    "--sim-fault", "Tensor.__rpow__.0=hang", "--task-timeout", time_for_a_call(2), "--retries", "0"};
const std::vector<std::string> xterm{"TERM=xterm", "NO_COLOR"};

// Seconds of a duration as the status line has it.
int seconds_of(const std::string& text) {
  int seconds = 0;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ':');) seconds = seconds * 60 + std::stoi(part);
  return seconds;
}

TEST_F(OnATerminal, EightyColumnsHoldWhatIsSuspiciousAndTheCallThatRuns) {
  std::vector<std::string> more = hanging;
  more.insert(more.end(), {"--color", "never"});
  const auto [text, code] = run_with(more, xterm);
  EXPECT_TRUE(code) << text;
  int with_call = 0;
  for (const std::string& line : status_lines(text)) {
    EXPECT_LT(display_width(line), 80U) << line;
    EXPECT_THAT(line, HasSubstr("suspicious ")) << line;
    with_call += line.find("suspicious 4 | Tensor.__rpow__.0 ") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(with_call, 5) << text;
}

// A terminal as people use it, whose screen is read as a person sees it.
class Tmux {
 public:
  Tmux(const fs::path& scratch, int columns, const std::string& command)
      : socket_(scratch / ("tmux" + std::to_string(columns))) {
    started_ =
        run("-f /dev/null new-session -d -x " + std::to_string(columns) + " -y 30 " + shell_quoted(command)) == 0;
  }
  ~Tmux() { run("kill-server"); }
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;

  bool started() const { return started_; }
  // The lines on the screen that are not empty.
  std::vector<std::string> screen() const {
    const std::string file = socket_.string() + ".txt";
    std::vector<std::string> lines;
    if (run("capture-pane -p > " + shell_quoted(file)) != 0) return lines;
    std::istringstream text(read_file(file));
    for (std::string line; std::getline(text, line);) {
      if (!line.empty()) lines.push_back(line);
    }
    return lines;
  }

 private:
  int run(const std::string& words) const {
    return std::system(("tmux -S " + shell_quoted(socket_.string()) + " " + words + " 2> /dev/null").c_str());
  }

  fs::path socket_;
  bool started_ = false;
};

TEST_F(OnATerminal, TheScreenHasOneStatusLineThatFits) {
  if (std::system("command -v tmux > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no tmux";
  // A busy host shows each second late or not at all, and may still compute other calls in the first ones.
  const std::regex hanging_alone("suspicious 4 .*Tensor\\.__rpow__\\.0 [0-9]+s");
  for (const int columns : {80, 200}) {
    const std::string command =
        (fs::path(programs()) / "msrun").string() + " -api_info " + dump("llama_fp32").string() + " -o " +
        (out() / std::to_string(columns)).string() +
        " -n 4 --sim-fault 'Torch.matmul.*=acc-fp16' --sim-fault Tensor.__rpow__.0=hang --retries 0"
        " --no-summary --task-timeout " +
        time_for_a_call(6) + "; sleep 60";
    const Tmux terminal(scratch_.path(), columns, command);
    ASSERT_TRUE(terminal.started());
    std::vector<std::string> lines;
    const auto status_lines_in = [&] {
      return std::ranges::count_if(lines,
                                   [](const std::string& line) { return line.find(" left") != std::string::npos; });
    };
    ASSERT_TRUE(eventually(60, [&] {
      lines = terminal.screen();
      return !lines.empty() && std::regex_search(lines.back(), hanging_alone);
    })) << ::testing::PrintToString(lines);
    // What was drawn before is gone, and no line is broken in two.
    EXPECT_EQ(status_lines_in(), 1) << ::testing::PrintToString(lines);
    EXPECT_LT(display_width(lines.back()), static_cast<std::size_t>(columns));
    EXPECT_EQ(lines.back().find("pass ") != std::string::npos, columns == 200) << lines.back();
    ASSERT_TRUE(eventually(60, [&] {
      lines = terminal.screen();
      return std::ranges::any_of(lines, [](const std::string& line) { return line.find("completed ") == 0; });
    })) << ::testing::PrintToString(lines);
    EXPECT_EQ(status_lines_in(), 0) << ::testing::PrintToString(lines);
  }
}

// While one call is all that runs.
TEST_F(OnATerminal, TheTimeLeftDoesNotRiseWhileOneCallRuns) {
  const auto [text, code] = run_with(hanging, xterm);
  EXPECT_TRUE(code) << text;
  // Where the host is so busy that calls take far longer than planned, nobody knows what is left.
  const std::regex left("([0-9:]+|\\?) left.*__rpow__.0 ");
  std::vector<int> seconds;
  std::size_t lines = 0;
  for (const std::string& line : status_lines(text)) {
    std::smatch found;
    if (!std::regex_search(line, found, left)) continue;
    ++lines;
    if (found[1] != "?") seconds.push_back(seconds_of(found[1]));
  }
  EXPECT_GT(lines, 5U) << text;
  EXPECT_TRUE(std::is_sorted(seconds.rbegin(), seconds.rend())) << text;
}

TEST_F(OnATerminal, SuspiciousCallsAreNamedBeforeTheEnd) {
  const auto [text, code] = run_with(hanging, xterm);
  EXPECT_TRUE(code) << text;
  // Which of them come first, and so are named, is for the host to decide.
  const std::regex warning("Suspicious: error Torch.matmul.[0-9]+: forward.output.0: Not explained by rounding");
  std::smatch named;
  ASSERT_TRUE(std::regex_search(text, named, warning)) << text;
  EXPECT_NE(text.find("__rpow__.0 1s", static_cast<std::size_t>(named.position())), std::string::npos) << text;
}

TEST_F(OnATerminal, ColoursAreShownWhereTheyAreWanted) {
  const std::string red = "\x1b[31m";
  const auto text_of = [&](const std::vector<std::string>& more, const std::vector<std::string>& environment) {
    return run_with(more, environment).first;
  };
  EXPECT_THAT(text_of({}, xterm), HasSubstr(red));
  EXPECT_THAT(text_of({}, {"TERM=xterm", "NO_COLOR="}), HasSubstr(red));
  EXPECT_THAT(text_of({}, {"TERM=xterm", "NO_COLOR=1"}), Not(HasSubstr(red)));
  EXPECT_THAT(text_of({}, {"TERM=dumb", "NO_COLOR"}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(text_of({"--color", "never"}, xterm), Not(HasSubstr(red)));
  EXPECT_THAT(text_of({"--color", "always"}, {"TERM=xterm", "NO_COLOR=1"}), HasSubstr(red));
}

TEST_F(OnATerminal, AFileHasNoColoursUnlessAsked) {
  const std::vector<std::string> words{"-api_info", dump("vit_fp32"), "-o",
                                       out(),       "--sim-fault",    "Functional.linear.*=wrong-block"};
  const Finished plain = msrun(words, scratch_.path(), {"TERM=xterm"});
  EXPECT_THAT(plain.out, HasSubstr("[WARNING] Suspicious: error "));
  EXPECT_THAT(plain.out, Not(HasSubstr("\x1b")));
  std::vector<std::string> coloured = words;
  coloured.insert(coloured.end(), {"--color", "always", "--summary"});
  EXPECT_THAT(msrun(coloured, scratch_.path()).out, HasSubstr("\x1b[31msuspicious\x1b[0m"));
  expect_refused({"-api_info", dump("vit_fp32"), "--color", "sometimes"}, {"--color", "auto"});
}

}  // namespace
}  // namespace msrun::testing
