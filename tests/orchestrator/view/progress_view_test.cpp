#include "orchestrator/view/progress_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/base/text.h"

namespace msrun {
namespace {

using ::testing::MatchesRegex;

ProgressState state_at(std::uint64_t done, double elapsed) {
  ProgressState state;
  state.done = done;
  state.total = 1000;
  state.elapsed = elapsed;
  state.counts.pass = done;
  return state;
}

TEST(Text, ReadableReplacesWhatIsNoText) {
  EXPECT_EQ(readable("plain, 精度\nnext"), "plain, 精度\nnext");
  EXPECT_EQ(readable(std::string("a\0b\t\x1b[m\x7f\r\n", 10)), "a_b__[m__\n");
  // Cut off, alone, overlong, a surrogate.
  EXPECT_EQ(readable("\xE7\xB2"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(readable("x\xFFy"), "x\xEF\xBF\xBDy");
  EXPECT_EQ(readable("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(readable("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(StatusLine, Terminal) {
  ProgressState state = state_at(250, 10);
  state.counts = {.pass = 240, .warning = 5, .error = 3, .skip = 2};
  state.devices = {{0, {{"Torch.add.0", 0.4}, {"Functional.conv2d.3", 12.4}}}, {3, {}}};
  EXPECT_EQ(terminal_line(state, 200),
            "250/1000 25% 0:30 left | suspicious 8 | Functional.conv2d.3 12s +1 | pass 240 warning 5 error 3 SKIP 2 | "
            "25 calls/s | 0: Functional.conv2d.3 12s +1 | 3: idle");
  EXPECT_EQ(terminal_line(state, 40), "250/1000 25% 0:30 left | suspicious 8");
  EXPECT_EQ(terminal_line(state, 20), "250/1000 25% 0:30...");
}

// Whatever the width, what is shown fits; and at 80 columns the call that runs can be told.
TEST(StatusLine, OfEightyColumnsHasWhatIsSuspiciousAndTheCallThatRuns) {
  ProgressState state = state_at(12345, 7000);
  state.total = 123456;
  state.left = 3700;
  state.counts = {.pass = 10000, .warning = 1000, .error = 345, .skip = 1000};
  state.devices = {{0, {{"Torch.add.0", 0.4}}},
                   {1, {{"Functional.scaled_dot_product_attention.1234", 321}, {"Torch.mul.0", 1}}}};
  EXPECT_EQ(terminal_line(state, 79),
            "12345/123456 9% 1:01:40 left | suspicious 1345 | scaled_dot_pr..on.1234 321s +2");
  state.devices[1].calls[0].name = "Torch.matmul.8";
  EXPECT_EQ(terminal_line(state, 79), "12345/123456 9% 1:01:40 left | suspicious 1345 | Torch.matmul.8 321s +2");
  state.devices[1].calls[0].name = "Torch.精度精度精度精度精度精度精度精度精度精度.8";
  for (std::size_t width = 1; width < 200; ++width) {
    EXPECT_LE(display_width(terminal_line(state, width)), width);
  }
}

TEST(StatusLine, CountsCallsThatFailedToRun) {
  ProgressState state = state_at(250, 10);
  state.counts.skip = state.counts.failed_to_run = 2;
  EXPECT_EQ(terminal_line(state, 90),
            "250/1000 25% 0:30 left | suspicious 0 failed 2 | pass 250 warning 0 error 0 SKIP 2");
  EXPECT_THAT(plain_line(state), ::testing::EndsWith(", SKIP 2, failed to run 2"));
}

TEST(StatusLine, CountsPassesThatAreSuspicious) {
  ProgressState state = state_at(250, 10);
  state.counts.beyond_rounding = 3;
  EXPECT_THAT(plain_line(state), ::testing::EndsWith(", pass 250, warning 0, error 0, SKIP 0, suspicious 3"));
}

TEST(StatusLine, IsColouredWhereSomethingIsSuspicious) {
  ProgressState state = state_at(250, 10);
  EXPECT_EQ(terminal_line(state, 45, Paint(true)), "250/1000 25% 0:30 left | suspicious 0");
  state.counts.error = 2;
  EXPECT_EQ(terminal_line(state, 45, Paint(true)), "250/1000 25% 0:30 left | \x1b[31msuspicious 2\x1b[0m");
}

TEST(StatusLine, RateAndTimeLeftOfThisRunOnly) {
  ProgressState state = state_at(250, 100);
  state.resumed = 200;
  EXPECT_DOUBLE_EQ(calls_per_second(state), 0.5);
  EXPECT_DOUBLE_EQ(seconds_left(state), 1500);
  EXPECT_EQ(plain_line(state),
            "progress 250/1000 (25%), 0.5 calls/s, 25:00 left, pass 250, warning 0, error 0, SKIP 0");
  state.left = 25;
  EXPECT_DOUBLE_EQ(seconds_left(state), 25);
  ProgressState begun = state;
  begun.done = begun.resumed;
  EXPECT_DOUBLE_EQ(seconds_left(begun), 25);
  begun.left = 0.1;
  EXPECT_LT(seconds_left(begun), 0) << "nothing is finished yet";
  begun.done = 500;
  begun.left = std::numeric_limits<double>::infinity();
  EXPECT_LT(seconds_left(begun), 0) << "the number of calls is no better";
  state.with_others = true;
  EXPECT_LT(seconds_left(state), 0) << "nobody knows what others take";
  state.done = 1000;
  EXPECT_DOUBLE_EQ(seconds_left(state), 0);
}

TEST(StatusLine, BeginningAndEnd) {
  EXPECT_EQ(plain_line(state_at(0, 0)),
            "progress 0/1000 (0%), 0.0 calls/s, ? left, pass 0, warning 0, error 0, SKIP 0");
  EXPECT_EQ(plain_line(state_at(999, 10)),
            "progress 999/1000 (99%), 100 calls/s, 0:00 left, pass 999, warning 0, error 0, SKIP 0");
  ProgressState none;
  EXPECT_EQ(plain_line(none), "progress 0/0 (100%), 0.0 calls/s, 0:00 left, pass 0, warning 0, error 0, SKIP 0");
}

TEST(TerminalViewTest, RedrawsOneLineBelowAllOthers) {
  std::ostringstream out;
  Console console(out);
  const auto view = make_terminal_view(console, [] { return std::size_t{24}; });
  view->run_started({});
  view->progress(state_at(1, 1));
  EXPECT_EQ(out.str(), "\r\x1b[K1/1000 0% 16:39 left");
  out.str("");
  console.print_line("a line");
  EXPECT_EQ(out.str(), "\r\x1b[Ka line\n1/1000 0% 16:39 left");
  out.str("");
  RunFinished event;
  event.done = 7;
  event.total = 1000;
  event.elapsed = 61;
  view->run_finished(event);
  EXPECT_EQ(out.str(), "\r\x1b[Kstopped at 7/1000 in 1:01, pass 0, warning 0, error 0, SKIP 0\n");
  out.str("");
  console.print_line("after");
  EXPECT_EQ(out.str(), "after\n");
}

// A terminal that was stopped is not to get all the lines of meanwhile when it goes on.
TEST(TerminalViewTest, WaitsForAReaderThatIsBehind) {
  std::ostringstream out;
  bool is_behind = false;
  Console console(out, Paint(), [&] { return is_behind; });
  console.set_status("one");
  is_behind = true;
  out.str("");
  console.set_status("two");
  console.set_status("three");
  EXPECT_EQ(out.str(), "");
  console.print_line("a line");
  EXPECT_EQ(out.str(), "\r\x1b[Ka line\nthree");
  is_behind = false;
  out.str("");
  console.set_status("");
  EXPECT_EQ(out.str(), "\r\x1b[K");
}

TEST(Colour, IsForTerminalsUnlessItIsRefused) {
  EXPECT_TRUE(wants_colour(ColourMode::always, -1));
  EXPECT_FALSE(wants_colour(ColourMode::never, -1));
  EXPECT_FALSE(wants_colour(ColourMode::automatic, -1));
  EXPECT_EQ(Paint(false)(Style::alarm, "x"), "x");
  EXPECT_EQ(Paint(true)(Style::plain, "x"), "x");
  EXPECT_EQ(Paint(true)(Style::caution, "x"), "\x1b[33mx\x1b[0m");
}

TEST(PlainViewTest, OneLineEachInterval) {
  std::ostringstream out;
  Console console(out);
  const auto view = make_plain_view(console, 5);
  for (int second = 0; second <= 11; ++second)
    view->progress(state_at(static_cast<std::uint64_t>(second) * 10, second));
  EXPECT_EQ(out.str(),
            "progress 50/1000 (5%), 10 calls/s, 1:35 left, pass 50, warning 0, error 0, SKIP 0\n"
            "progress 100/1000 (10%), 10 calls/s, 1:30 left, pass 100, warning 0, error 0, SKIP 0\n");
  out.str("");
  RunFinished event;
  event.complete = true;
  event.done = event.total = 1000;
  event.elapsed = 3700;
  event.counts.pass = 1000;
  view->run_finished(event);
  EXPECT_EQ(out.str(), "completed 1000/1000 in 1:01:40, pass 1000, warning 0, error 0, SKIP 0\n");
}

TEST(JsonViewTest, OneObjectPerLine) {
  std::ostringstream out;
  const auto view = make_json_view(out, 1);
  RunStarted started;
  started.api_info = "d\xFF.json";
  started.devices = {0, 1};
  started.total = 3;
  view->run_started(started);
  ApiResult result;
  result.name = "Torch.add.0";
  result.device = 1;
  result.forward = Status::pass;
  result.times.device = 1500000000;
  view->api_result(result);
  ProgressState state = state_at(0, 0.5);
  state.devices = {{1, {{"Torch.add.1", 2}}}};
  view->progress(state);
  view->progress(state_at(1, 1.4));  // too early
  view->progress(state_at(2, 1.5));
  view->runner_died({1, "killed by signal 11", {"Torch.add.1"}, {}});
  RunFinished finished;
  finished.exit_code = 3;
  finished.resume_command = "msrun -csv_path x";
  finished.report_path = "out/report.html";
  finished.costs.plan_seconds = 0.25;
  finished.costs.phases.compare = 3000000000;
  finished.costs.csv_time = 500000000;
  finished.costs.supervisor_peak = 4096;
  finished.costs.runners_peak = 8192;
  view->run_finished(finished);

  std::istringstream text(out.str());
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0]["type"], "run_started");
  EXPECT_EQ(lines[0]["api_info"], "d\xEF\xBF\xBD.json");
  EXPECT_EQ(lines[0]["devices"], nlohmann::json({0, 1}));
  EXPECT_EQ(lines[1]["type"], "api_result");
  EXPECT_EQ(lines[1]["forward"], "pass");
  EXPECT_TRUE(lines[1]["backward"].is_null());
  EXPECT_EQ(lines[1]["seconds"]["device"], 1.5);
  EXPECT_EQ(lines[2]["type"], "progress");
  EXPECT_TRUE(lines[2]["seconds_left"].is_null());
  EXPECT_EQ(lines[2]["devices"][0]["calls"][0]["name"], "Torch.add.1");
  EXPECT_EQ(lines[3]["done"], 2);
  EXPECT_EQ(lines[4]["action"], "retry");
  EXPECT_EQ(lines[4]["skipped"], nlohmann::json::array());
  EXPECT_EQ(lines[5]["exit_code"], 3);
  EXPECT_EQ(lines[5]["resume_command"], "msrun -csv_path x");
  EXPECT_EQ(lines[5]["report"], "out/report.html");
  EXPECT_EQ(lines[5]["seconds"]["plan"], 0.25);
  EXPECT_EQ(lines[5]["seconds"]["compare"], 3);
  EXPECT_EQ(lines[5]["seconds"]["csv"], 0.5);
  EXPECT_EQ(lines[5]["peak_bytes"], nlohmann::json({{"supervisor", 4096}, {"runners", 8192}}));
}

class LogLines : public ::testing::Test {
 protected:
  ~LogLines() override {
    unsetenv("MSPROBE_LOG_LEVEL");
    spdlog::set_default_logger(nullptr);
  }

  std::ostringstream out_;
  Console console_{out_};
};

TEST_F(LogLines, HaveTimePidAndLevel) {
  setup_logging(console_);
  spdlog::info("start acc_check test");
  const std::string pid = std::to_string(getpid());
  EXPECT_THAT(out_.str(), MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} .[0-9]+. "
                                       ".INFO. start acc_check test\n"));
  EXPECT_THAT(out_.str(), ::testing::HasSubstr(" (" + pid + ") [INFO] "));
  out_.str("");
  spdlog::warn("a\nb\tc%0ad");
  EXPECT_THAT(out_.str(), ::testing::EndsWith("[WARNING] a_b_c_d\n"));
  out_.str("");
  spdlog::error("x");
  EXPECT_THAT(out_.str(), ::testing::EndsWith("[ERROR] x\n"));
  out_.str("");
  spdlog::debug("not shown");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(LogLines, LevelComesFromTheEnvironment) {
  const auto shown = [&](const char* level) {
    setenv("MSPROBE_LOG_LEVEL", level, 1);
    setup_logging(console_);
    out_.str("");
    spdlog::debug("d");
    spdlog::info("i");
    spdlog::warn("w");
    spdlog::error("e");
    std::string kinds;
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);) kinds += line.back();
    return kinds;
  };
  EXPECT_EQ(shown("0"), "diwe");
  EXPECT_EQ(shown("1"), "iwe");
  EXPECT_EQ(shown("2"), "we");
  EXPECT_EQ(shown("3"), "e");
  EXPECT_EQ(shown("4"), "");
  EXPECT_EQ(shown("5"), "iwe");
  EXPECT_EQ(shown("12"), "iwe");
  EXPECT_EQ(shown(""), "iwe");
}

TEST_F(LogLines, HaveLevelsInColour) {
  Console console(out_, Paint(true));
  setup_logging(console);
  spdlog::info("x");
  EXPECT_THAT(out_.str(), ::testing::EndsWith("[INFO] x\n"));
  spdlog::warn("y");
  EXPECT_THAT(out_.str(), ::testing::EndsWith("[\x1b[33mWARNING\x1b[0m] y\n"));
  spdlog::error("z");
  EXPECT_THAT(out_.str(), ::testing::EndsWith("[\x1b[31mERROR\x1b[0m] z\n"));
}

TEST_F(LogLines, NameSuspiciousCallsAsTheyHappen) {
  setup_logging(console_);
  const auto view = make_plain_view(console_, 5);
  ApiResult result;
  result.device = 0;
  result.forward = Status::error;
  DetailsRow row(pytorch_columns());
  row.status = Status::error;
  row.message = "\nlimit\nNot explained by rounding: 3 of 4 elements differ.\n";
  result.forward_rows.push_back(row);
  for (int i = 0; i < 5; ++i) {
    result.name = "Torch.add." + std::to_string(i);
    view->api_result(result);
  }
  EXPECT_THAT(out_.str(),
              ::testing::HasSubstr("[WARNING] Suspicious: error Torch.add.0: forward.output.0: Not explained "
                                   "by rounding: 3 of 4 elements differ.\n"));
  EXPECT_THAT(out_.str(), ::testing::HasSubstr("Torch.add.2: "));
  EXPECT_THAT(out_.str(), ::testing::HasSubstr("Further calls of Torch.add are counted"));
  EXPECT_EQ(out_.str().find("Torch.add.3"), std::string::npos);
  out_.str("");
  result.rounding_only = true;
  result.name = "Torch.mul.0";
  view->api_result(result);
  result.rounding_only = false;
  result.overflow.emplace();
  view->api_result(result);
  EXPECT_EQ(out_.str(), "");
  view->api_result(skip_result(9, "Torch.mul.1", "Not enough memory.", Outcome::failed_to_run));
  EXPECT_THAT(out_.str(), ::testing::EndsWith("[ERROR] Run Torch.mul.1 acc_check Error: Not enough memory.\n"));
  view->api_result(skip_result(9, "Torch.sub.0", "Unknown.", Outcome::not_checkable));
  EXPECT_THAT(out_.str(), ::testing::EndsWith("[WARNING] Torch.sub.0 was not checked: Unknown.\n"));
  out_.str("");
  view->api_result(skip_result(9, "Torch.sub.1", "A list leaves it out.", Outcome::skipped_by_rule));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(LogLines, LeaveTheCallsOfAnOverflowCheckToItsReport) {
  setup_logging(console_);
  const auto view = make_plain_view(console_, 5);
  RunStarted event;
  event.overflow_check = true;
  view->run_started(event);
  view->api_result(skip_result(9, "Torch.mul.1", "Not enough memory.", Outcome::failed_to_run));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(LogLines, DeadRunnerIsAWarning) {
  setup_logging(console_);
  make_plain_view(console_, 5)
      ->runner_died({2, "killed by signal 9", {"Torch.add.1", "Torch.mul.0"}, {"Torch.add.1", "Torch.mul.0"}});
  EXPECT_THAT(out_.str(),
              ::testing::EndsWith("[WARNING] The runner of device 2 died: killed by signal 9. It was on Torch.add.1, "
                                  "Torch.mul.0; recorded as SKIP.\n"));
  // Calls that were at work beside the one to blame are none of it.
  make_plain_view(console_, 5)->runner_died({2, "killed by signal 9", {"Torch.add.1", "Torch.mul.0"}, {"Torch.mul.0"}});
  EXPECT_THAT(out_.str(),
              ::testing::EndsWith("It was on Torch.add.1, Torch.mul.0; Torch.mul.0 is recorded as SKIP, what "
                                  "else it was on runs again.\n"));
  make_plain_view(console_, 5)->runner_died({2, "killed by signal 9", {"Torch.add.1", "Torch.mul.0"}, {}});
  EXPECT_THAT(out_.str(), ::testing::EndsWith("It was on Torch.add.1, Torch.mul.0; retrying.\n"));
}

TEST(Text, WidthsAndCuts) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("精度"), 4U);
  EXPECT_EQ(display_width("\xFF\xE7"), 2U);
  EXPECT_EQ(cut_to_width("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_width("abcdefg", 6), "abc...");
  EXPECT_EQ(cut_to_width("精度精度", 6), "精...");
  EXPECT_EQ(cut_to_width("abc", 2), "..");
  EXPECT_EQ(cut_to_width("abc", 0), "");
}

// What shows nothing, or turns the order of others around, is named; letters and emblems are left alone.
TEST(Text, InvisibleCharactersAreNamedWhereTheyAreShownAndKeptInNames) {
  const std::string odd = "a\u202Eb\u200B\u00ADc\u2066\u0085\uFEFF\U000E0041";
  EXPECT_EQ(sanitised(odd), "a⟨U+202E⟩b⟨U+200B⟩⟨U+00AD⟩c⟨U+2066⟩⟨U+0085⟩⟨U+FEFF⟩⟨U+E0041⟩");
  EXPECT_EQ(sanitised(sanitised(odd)), sanitised(odd));
  EXPECT_EQ(without_controls(odd + "\n"), odd + "_");
  for (const std::string text : {"é 数 😀", "\xFF\xE2\x80", "⟨U+202E⟩"}) EXPECT_EQ(visible(text), text);
}

TEST(Text, SanitisedQuotedDurations) {
  EXPECT_EQ(sanitised("a\r\nb\x7F%0d%41 é"), "a__b__%41 é");
  EXPECT_EQ(shell_quoted("a/b-c_d.e=f"), "a/b-c_d.e=f");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("it's\n\u202E%0a"), "$'it\\047s\\012\\342\\200\\256\\0450a'");
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(3599), "59:59");
  EXPECT_EQ(duration_text(3600), "1:00:00");
  EXPECT_EQ(duration_text(-1), "?");
  EXPECT_EQ(edit_distance("device", "devcie"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

}  // namespace
}  // namespace msrun
