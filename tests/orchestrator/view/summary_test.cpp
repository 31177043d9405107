#include "orchestrator/view/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "kernels/base/text.h"

namespace msrun {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto pass = Status::pass;
constexpr auto warning = Status::warning;
constexpr auto error = Status::error;

ApiResult result_of(const std::string& name, std::uint32_t task, Status forward, std::string message) {
  ApiResult result;
  result.name = name;
  result.task = task;
  result.forward = forward;
  DetailsRow row(pytorch_columns());
  row.status = Status::pass;
  result.forward_rows.push_back(row);
  row.status = forward;
  row.message = std::move(message);
  result.forward_rows.push_back(row);
  return result;
}

TEST(SummaryTest, TableOfAnAllPassingRun) {
  Summary summary;
  for (std::uint32_t i = 0; i < 12; ++i) summary.add(result_of("Torch.add." + std::to_string(i), i, pass, ""));
  EXPECT_EQ(summary.text("msrun -api_info d.json"),
            "Conclusions from 12 calls\n"
            "        0  suspicious: results that rounding does not explain\n"
            "        0  failed to run: crashes, time-outs, want of memory, internal errors\n"
            "Overall Statistics\n"
            "+------+---------+-------+--------------+------------+\n"
            "| Pass | Warning | Error | Passing Rate | Skip Tests |\n"
            "+------+---------+-------+--------------+------------+\n"
            "|   12 |       0 |     0 |      100.00% |          0 |\n"
            "+------+---------+-------+--------------+------------+\n"
            "Detail Statistics\n"
            "+---------------+----------------+-------------------------------+\n"
            "| Forward Error | Backward Error | Both Forward & Backward Error |\n"
            "+---------------+----------------+-------------------------------+\n"
            "|             0 |              0 |                             0 |\n"
            "+---------------+----------------+-------------------------------+\n");
}

ApiResult skipped(const std::string& name, std::uint32_t task, const std::string& reason, std::int32_t device) {
  ApiResult result = skip_result(task, name, reason, device < 0 ? Outcome::skipped_by_rule : Outcome::failed_to_run);
  result.device = device;
  return result;
}

TEST(SummaryTest, WhyCallsWereNotCheckedRulesLast) {
  Summary summary;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::string name = "Distributed.send." + std::to_string(i);
    summary.add(skipped(name, 7 - i, "API " + name + " not support for acc_check. SKIP.", -1));
  }
  summary.add(skipped("Torch.mm.0", 9, "The runner of device 1 died while running this API: killed.", 1));
  ApiResult strange = skip_result(11, "Torch.sin.0", "Dtype is not supported.", Outcome::not_checkable);
  strange.device = 0;
  summary.add(strange);
  const std::string text = summary.text("msrun");
  EXPECT_THAT(text, HasSubstr("        1  failed to run: "));
  EXPECT_THAT(text, HasSubstr("\nCalls that were not checked\n"
                              "  failed to run: 1 call\n"
                              "        1  Torch.mm.0: The runner of device 1 died while running this API: killed.\n"
                              "  cannot be checked: 1 call\n"
                              "        1  Torch.sin.0: Dtype is not supported.\n"
                              "  left out by rule: 3 calls\n"
                              "        3  Distributed.send.2, ...: API Distributed.send.2 not support for acc_check. "
                              "SKIP.\n"));
  EXPECT_TRUE(text.ends_with("SKIP.\n")) << text;
}

TEST(SummaryTest, ReasonsThatDifferInNumbersAreOne) {
  Summary summary;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::string name = "Torch.mm." + std::to_string(i);
    summary.add(skipped(name, i, "The runner of device " + std::to_string(i % 3) + " died, attempt 1.", 0));
    summary.add(skipped("Torch.mul." + std::to_string(i), 20 + i, "The file path x/" + std::to_string(i) + ".", 0));
  }
  summary.add(skipped("Torch.sin.0", 50, "Dtype is not supported: torch.float4", 0));
  summary.add(skipped("Torch.sin.1", 51, "Dtype is not supported: torch.float6", 0));
  EXPECT_THAT(summary.text("msrun"), HasSubstr("  failed to run: 26 calls\n"
                                               "       12  Torch.mm.0, ...: The runner of device 0 died, attempt 1.\n"
                                               "       12  Torch.mul.0, ...: The file path x/0.\n"
                                               "        1  Torch.sin.0: Dtype is not supported: torch.float4\n"
                                               "        1  Torch.sin.1: Dtype is not supported: torch.float6\n"));
}

TEST(SummaryTest, ReasonsThatDifferInUnitsAreOne) {
  Summary summary;
  summary.add(skipped("Torch.mm.0", 0, "Not enough memory: 2.00 GiB of which 1.50 KiB is free.", 0));
  summary.add(skipped("Torch.mm.1", 1, "Not enough memory: 512.00 MiB of which 20.00 KiB is free.", 0));
  summary.add(skipped("Torch.mm.2", 2, "Not enough memory: 512.00 MiB of which 20.00 KiB is used.", 0));
  EXPECT_THAT(summary.text("msrun"), HasSubstr("  failed to run: 3 calls\n        2  Torch.mm.0, ...: Not enough"));
}

TEST(SummaryTest, ManyReasonsForNotCheckingAreCutOff) {
  Summary summary;
  const auto word = [](std::uint32_t i) {
    return std::string(1, static_cast<char>('a' + i / 26 / 26)) + static_cast<char>('a' + i / 26 % 26) +
           static_cast<char>('a' + i % 26);
  };
  for (std::uint32_t i = 0; i < 1200; ++i) {
    summary.add(skipped("Torch.mm." + std::to_string(i), i, "The file path x/" + word(i) + " is missing.", 0));
  }
  const std::string text = summary.text("msrun");
  EXPECT_THAT(text, HasSubstr("        1  Torch.mm.9: The file path x/aaj is missing.\n"
                              "  and 990 calls for other reasons; all are in the result file.\n"
                              "  and 200 calls for further reasons; all are in the result file.\n"));
  EXPECT_THAT(text, Not(HasSubstr("Torch.mm.10:")));
}

// What the program concludes, what to look at, the documented counts, what was not checked.
TEST(SummaryTest, LeadsWithWhatIsConcluded) {
  Summary summary;
  summary.add(result_of("Torch.add.0", 0, error, "wrong"));
  summary.add(skipped("Torch.mm.0", 9, "The runner of device 1 died.", 1));
  const auto places = [](const std::string& text) {
    std::vector<std::size_t> found;
    for (const char* title : {"Conclusions from 2 calls\n", "APIs to look at first\n", "Overall Statistics\n",
                              "Detail Statistics\n", "Calls that were not checked\n"}) {
      found.push_back(text.find(title));
      EXPECT_NE(found.back(), std::string::npos) << title << text;
    }
    return found;
  };
  const std::vector<std::size_t> ours = places(summary.text("msrun"));
  EXPECT_TRUE(std::is_sorted(ours.begin(), ours.end()));
  EXPECT_EQ(ours.front(), 0U);
  const std::vector<std::size_t> documented = places(summary.text("msrun", {Paint(), true}));
  EXPECT_EQ(documented[2], 0U);
  EXPECT_LT(documented[3], documented[0]);
}

TEST(SummaryTest, SaysThatTheDeviceWasSimulated) {
  Summary summary;
  ApiResult result = result_of("Torch.add.0", 0, pass, "");
  result.tested_on = TestedOn::simulated;
  summary.add(result);
  const std::string notice = "Device under test: simulated device; no NPU or GPU was tested";
  EXPECT_THAT(summary.text("msrun"), HasSubstr(notice + "\nOverall Statistics\n"));
  result.tested_on = TestedOn::hardware;
  summary.add(result);
  EXPECT_THAT(summary.text("msrun"), HasSubstr(notice + " (1 of 2 calls)\n"));
}

TEST(SummaryTest, IsInColourIfAsked) {
  Summary summary;
  summary.add(result_of("Torch.add.0", 0, error, "wrong"));
  const std::string text = summary.text("msrun", {Paint(true), false});
  EXPECT_THAT(text, HasSubstr("        1  \x1b[31msuspicious\x1b[0m: "));
  EXPECT_THAT(text, HasSubstr("  \x1b[31merror\x1b[0m    Torch.add.0\n"));
}

TEST(SummaryTest, WorstApisErrorsFirstWithReasonAndCommand) {
  Summary summary;
  summary.add(result_of("Torch.add.0", 0, warning, "\nRMSE is over 1.\n\n"));
  summary.add(result_of("Functional.conv2d.7", 9, error, "\ncosine is less than 0.99.\nsecond line\n"));
  summary.add(result_of("Functional.conv2d.3", 5, error, "The first of its API."));
  summary.add(result_of("Functional.conv2d.1", 2, warning, "only a warning"));
  EXPECT_THAT(summary.text("msrun -api_info d.json"),
              HasSubstr("APIs to look at first\n"
                        "  error    Functional.conv2d.3 (Functional.conv2d in all: 2 errors, 1 warning)\n"
                        "           forward.output.1: The first of its API.\n"
                        "           msrun -api_info d.json --only Functional.conv2d.3\n"
                        "  warning  Torch.add.0\n"
                        "           forward.output.1: RMSE is over 1.\n"
                        "           msrun -api_info d.json --only Torch.add.0\n"));
}

// Of the worst call alone, whatever a journal says of it.
TEST(SummaryTest, DrawsWhereTheWorstCallIsWrong) {
  Summary summary;
  ApiResult other = result_of("Torch.add.0", 0, warning, "wrong");
  ApiResult worst = result_of("Functional.conv2d.3", 5, error, "wrong, too");
  for (ApiResult* result : {&other, &worst}) {
    Difference& difference = result->forward_rows.back().difference.emplace();
    difference.map.picture = {"..#.", "..+."};
    difference.map.cell_rows = 2;
    difference.map.cell_columns = 16;
  }
  summary.add(other);
  summary.add(worst);
  EXPECT_THAT(summary.text("msrun"),
              HasSubstr("  error    Functional.conv2d.3\n"
                        "           forward.output.1: wrong, too\n"
                        "           Where it is wrong: one character is 2 x 16 elements: . none wrong, + some, # at "
                        "least half\n"
                        "             ..#.\n"
                        "             ..+.\n"
                        "           msrun --only Functional.conv2d.3\n"
                        "  warning  Torch.add.0\n"
                        "           forward.output.1: wrong\n"
                        "           msrun --only Torch.add.0\n"));
  worst.forward_rows.back().difference->map.picture.assign(100, std::string(100, '\x1b'));
  worst.task = 1;
  summary.add(worst);
  const std::string text = summary.text("msrun");
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_LT(text.size(), 2500U);
}

TEST(SummaryTest, ListsOnlyWhatRoundingDoesNotExplain) {
  Summary summary;
  ApiResult explained =
      result_of("Torch.add.0", 0, warning, "\nlimit\nExplained by float16 rounding: at most 1 ULP.\n");
  explained.rounding_only = true;
  summary.add(explained);
  summary.add(result_of("Torch.mul.0", 1, error, "\nlimit\nNot explained by rounding: much.\nA reason.\n"));
  const std::string text = summary.text("msrun");
  EXPECT_THAT(text, HasSubstr("        1  suspicious: results that rounding does not explain\n"
                              "        0  failed to run: crashes, time-outs, want of memory, internal errors\n"
                              "        1  explained by rounding: "));
  EXPECT_THAT(text, HasSubstr("  error    Torch.mul.0\n"
                              "           forward.output.1: Not explained by rounding: much.\n"
                              "           A reason.\n"));
  EXPECT_THAT(text, Not(HasSubstr("Torch.add")));
}

// What agrees without proving anything is counted apart from the verdicts, and its reasons stand below them.
TEST(SummaryTest, NamesWhatProvesLittle) {
  Summary summary;
  for (std::uint32_t i = 0; i < 3; ++i) {
    ApiResult zeros = result_of("Torch.mul." + std::to_string(i), i, pass, "");
    zeros.weak_evidence = WeakEvidence::all_zero;
    summary.add(zeros);
  }
  ApiResult dropped = result_of("Functional.dropout.0", 7, pass, "");
  dropped.weak_evidence = WeakEvidence::all_dropped;
  summary.add(dropped);
  const std::string text = summary.text("msrun");
  EXPECT_THAT(text, HasSubstr("        4  proves little: results that agree where nothing else could be expected\n"));
  EXPECT_THAT(text, HasSubstr("|    4 |       0 |     0 |      100.00% |          0 |\n"));
  EXPECT_THAT(text, Not(HasSubstr("not compared")));
  const std::size_t reasons = text.find(
      "Results that prove little\n        3  Torch.mul.0, ...: every element of the "
      "benchmark is 0");
  EXPECT_NE(reasons, std::string::npos) << text;
  EXPECT_GT(reasons, text.find("Overall Statistics"));
  EXPECT_THAT(text, HasSubstr("        1  Functional.dropout.0: "));
}

TEST(SummaryTest, OrderOfResultsDoesNotMatter) {
  const std::vector<ApiResult> results{result_of("Torch.add.0", 0, warning, "a"),
                                       result_of("Torch.add.1", 1, error, "b"), result_of("Torch.add.2", 2, error, "c"),
                                       result_of("Torch.mul.0", 3, error, "d")};
  Summary forth;
  for (const ApiResult& result : results) forth.add(result);
  Summary back;
  for (auto at = results.rbegin(); at != results.rend(); ++at) back.add(*at);
  EXPECT_EQ(forth.text("msrun"), back.text("msrun"));
}

TEST(SummaryTest, ReasonFallsBackToTheNumbers) {
  Summary summary;
  ApiResult result = result_of("Torch.add.0", 0, error, "");
  result.forward_rows[1][Metric::cosine] = Cell::fp64(0.5);
  result.forward_rows[1][Metric::max_abs_error] = Cell::fp32(1e-9);
  summary.add(result);
  ApiResult dropout;
  dropout.name = "Functional.dropout.0";
  dropout.task = 1;
  dropout.forward = error;
  summary.add(dropout);
  EXPECT_THAT(summary.text("msrun"), HasSubstr("forward.output.1: cosine 0.5, max abs error 1e-09\n"));
  EXPECT_THAT(summary.text("msrun"), HasSubstr("no details row says why"));
}

TEST(SummaryTest, ACommandIsBrokenBeforeAFlag) {
  Summary summary;
  summary.add(result_of("Torch.mm.0", 0, error, "wrong"));
  EXPECT_THAT(summary.text("msrun -api_info " + std::string(70, 'p') + " -d 0 1 --sim-fault 'Torch.m m.*=acc-fp16'"),
              HasSubstr(" -d 0 1 \\\n             --sim-fault 'Torch.m m.*=acc-fp16' --only Torch.mm.0\n"));
}

TEST(SummaryTest, ACommandIsNotBrokenWithinAQuotedApostrophe) {
  Summary summary;
  summary.add(result_of("Torch.mm.0", 0, error, "wrong"));
  const std::string path = "'/data/it'\\''s a long name " + std::string(90, 'p') + "/dump of today.json'";
  EXPECT_THAT(summary.text("msrun -api_info " + path + " -d 0 1"), HasSubstr(path));
}

TEST(SummaryTest, TellsOfResultsThatAreNotCounted) {
  Summary summary;
  summary.add(result_of("Torch.mm.0", 0, error, "wrong"));
  SummaryStyle style;
  style.not_counted = "40 calls of the earlier run are not counted.";
  EXPECT_THAT(summary.text("msrun", style), HasSubstr("\n40 calls of the earlier run are not counted.\n"));
}

TEST(SummaryTest, AtMostTenApisAndNeverWiderThan120Columns) {
  Summary summary;
  for (std::uint32_t i = 0; i < 15; ++i) {
    summary.add(result_of("Torch.api" + std::to_string(i) + std::string(90, 'x') + ".0", i, error,
                          "中文" + std::string(200, 'm') + "\x1b[31m"));
  }
  const std::string text = summary.text("msrun -api_info " + std::string(80, 'p') + " --backend sim");
  EXPECT_THAT(text, HasSubstr("and 5 more APIs; all are in the result file."));
  EXPECT_THAT(text, HasSubstr(" \\\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  std::istringstream lines(text);
  int listed = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), 120U) << line;
    listed += line.starts_with("  error") ? 1 : 0;
  }
  EXPECT_EQ(listed, 10);
}

}  // namespace
}  // namespace msrun
