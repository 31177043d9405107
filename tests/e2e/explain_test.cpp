// Warnings and errors that rounding explains, and reasons for those it does not: none of a sound device is suspicious,
// and what a fault model does is recognised.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Explain : public Untouched {
 protected:
  struct Row {
    std::string name;
    std::string dtype;
    std::string status;
    std::string message;
    std::vector<std::string> metrics;
  };

  std::vector<Row> rows_of(const std::string& dump_path, const std::vector<std::string>& more) {
    const fs::path out = scratch_ / ("run" + std::to_string(++runs_));
    std::vector<std::string> words{"-api_info", dump_path, "-n", "2", "--backend", "sim", "-o", out};
    words.insert(words.end(), more.begin(), more.end());
    const Finished run = msrun(words, scratch_.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::vector<Row> rows;
    const Rows text = read_csv(only_file(out, "accuracy_checking_details_"));
    for (std::size_t i = 1; i < text.size(); ++i) {
      const auto& row = text[i];
      rows.push_back({row.at(0), row.at(2), row.at(21), row.at(22), {row.begin() + 4, row.begin() + 21}});
    }
    return rows;
  }

  static bool failed(const Row& row) { return row.status == "warning" || row.status == "error"; }
  static bool explained(const Row& row) { return row.message.find("\nExplained by ") != std::string::npos; }

  // Of the failing float rows that the fault changed: how many there are, and how many say reason.
  struct Share {
    int failing = 0;
    int right = 0;
  };
  Share share_of(const std::string& fixture, const std::string& fault, const std::string& reason,
                 const std::string& calls) {
    std::map<std::string, std::vector<std::string>> clean;
    for (const Row& row : rows_of(dump(fixture), {"--only", calls})) clean[row.name] = row.metrics;
    Share share;
    for (const Row& row : rows_of(dump(fixture), {"--only", calls, "--sim-fault", "*=" + fault})) {
      if (row.dtype.find("float") == std::string::npos || !failed(row) || row.metrics == clean[row.name]) continue;
      ++share.failing;
      if (row.message.find(reason) != std::string::npos) ++share.right;
    }
    return share;
  }

 private:
  int runs_ = 0;
};

class ExplainEveryDump : public Explain, public ::testing::WithParamInterface<std::string> {};

TEST_P(ExplainEveryDump, NothingOfASoundDeviceIsSuspicious) {
  int failing = 0;
  for (const Row& row : rows_of(dump(GetParam()), {})) {
    if (!failed(row)) continue;
    ++failing;
    EXPECT_TRUE(explained(row)) << row.name << row.message;
    EXPECT_THAT(row.message, Not(HasSubstr("Not explained"))) << row.name;
  }
  EXPECT_GE(failing, GetParam() == "llama_bf16" ? 40 : 0) << "the limits of the documentation are not kept";
}

INSTANTIATE_TEST_SUITE_P(Dumps, ExplainEveryDump,
                         ::testing::Values("cnn_fp32", "llama_bf16", "llama_bf16_mix", "llama_bf16_tensor",
                                           "llama_fp32", "llama_mid_bf16", "moe_bf16", "npu_fused_synth_bf16",
                                           "npu_fused_synth_fp32", "unet_fp32", "vit_fp32", "zoo_stat", "zoo_tensor"),
                         [](const auto& name) { return name.param; });

TEST_F(Explain, FaultsOfTheDeviceAreNamed) {
  struct Case {
    const char* fixture;
    const char* fault;
    const char* reason;
    int at_least;  // failing rows, so that the test says something
    // A fault of every call is looked at in two of a kind: accusing a call takes as long as thirty evaluations of it.
    const char* calls = "*";
  };
  for (const Case& known : {
           Case{"llama_fp32", "acc-fp16", "float16 accumulation", 20},
           Case{"llama_bf16", "acc-fp16", "float16 accumulation", 15},
           Case{"llama_fp32", "hf32", "rounded to HF32", 4},
           Case{"llama_fp32", "wrong-element", "One element of", 50, "*.[01]"},
           Case{"llama_bf16_tensor", "wrong-element", "One element of", 50},
           Case{"vit_fp32_tensor", "wrong-block", "One contiguous block", 35},
           Case{"llama_bf16", "wrong-block", "One contiguous block", 45, "*.[01]"},
       }) {
    SCOPED_TRACE(std::string(known.fixture) + " " + known.fault);
    const Share share = share_of(known.fixture, known.fault, known.reason, known.calls);
    EXPECT_GE(share.failing, known.at_least);
    EXPECT_GE(share.right * 10, share.failing * 9);
  }
}

TEST_F(Explain, FlushedDenormalsAreNamed) {
  const std::string tensor = R"({"type": "torch.Tensor", "dtype": "torch.float16", "shape": [64], "Max": 0.0003,)"
                             R"( "Min": 0.0002, "Mean": 0.0002, "Norm": 0.001, "requires_grad": false})";
  const std::string factor = R"({"type": "float", "value": 0.1})";
  const std::string path = write_dump(dump_text(R"("Torch.mul.0.forward": {"input_args": [)" + tensor + ", " + factor +
                                                R"(], "input_kwargs": {}, "output": [)" + tensor + "]}"));
  std::vector<Row> rows = rows_of(path, {"--sim-fault", "*=ftz"});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].status, "error");
  EXPECT_THAT(rows[0].message, HasSubstr("Denormals flushed"));
  rows = rows_of(path, {});
  EXPECT_EQ(rows.at(0).status, "pass");
}

// The map of a wrong output is drawn in the closing table, and told in numbers by events and journal.
TEST_F(Explain, TellsWhereAnOutputIsWrong) {
  const Finished run = msrun({"-api_info", dump("llama_fp32"), "--only", "Torch.matmul.0", "--sim-fault",
                              "*=wrong-block", "-n", "1", "--summary", "--message-format", "json", "-o", out()},
                             scratch_.path());
  EXPECT_THAT(run.out, Not(HasSubstr("Where it is wrong")));
  EXPECT_THAT(run.err, HasSubstr("Where it is wrong")) << "the table is asked for, and no event";
  const auto line_of = [](const std::string& text, const std::string& begin) {
    const std::size_t at = text.find(begin);
    return at == std::string::npos ? json() : json::parse(text.substr(at, text.find('\n', at) - at));
  };
  const json event = line_of(run.out, R"({"type":"api_result")")["difference"];
  ASSERT_TRUE(event.is_object()) << run.out;
  EXPECT_EQ(event["kind"], "block");
  EXPECT_EQ(event["elements"], 65536);
  EXPECT_EQ(event["wrong"], 8192);
  EXPECT_EQ(event["last"].get<int>() - event["first"].get<int>(), 8191);
  EXPECT_TRUE(event["period"].is_null());
  for (const char* sizes : {"relative_errors", "ulps"}) {
    int total = 0;
    for (const json& size : event[sizes]) total += size.at(1).get<int>();
    EXPECT_EQ(total, 65536) << sizes;
  }
  const Finished exported =
      msrun({"journal", only_file(out(), "accuracy_checking_result_"), "--export", "-"}, scratch_.path());
  const json rows = json::parse(exported.out.substr(0, exported.out.find('\n')))["rows"];
  EXPECT_EQ(rows[0]["difference"], event);

  // A run that only reads the journal draws the same.
  const std::vector<std::string> words{"-api_info",   dump("llama_fp32"), "--only", "Torch.matmul.0",
                                       "--sim-fault", "*=wrong-block",    "-n",     "1",
                                       "--summary"};
  std::vector<std::string> resume = words;
  resume.insert(resume.end(), {"-csv_path", only_file(out(), "accuracy_checking_result_")});
  const Finished drawn = msrun(resume, scratch_.path());
  EXPECT_THAT(drawn.out, HasSubstr("Where it is wrong: one character is "));
  std::string picture;
  for (const auto& line : event["picture"]) picture += "             " + line.get<std::string>() + "\n";
  EXPECT_THAT(drawn.out, HasSubstr(picture));
  EXPECT_THAT(drawn.out, Not(HasSubstr("\x1b")));
}

TEST_F(Explain, SaysNothingOfPlacesOnASoundDevice) {
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-o", out()}, scratch_.path()).exit_code, 0);
  const Finished exported =
      msrun({"journal", only_file(out(), "accuracy_checking_result_"), "--export", "-"}, scratch_.path());
  std::istringstream lines(exported.out);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    const json result = json::parse(line);
    for (const json& row : result.at("rows")) {
      ++rows;
      EXPECT_TRUE(row.at("difference").is_null());
    }
  }
  EXPECT_GE(rows, 84);
}

// Upstream's texts stay upstream's; the counts are there all the same.
TEST_F(Explain, CompatLeavesTheMessages) {
  for (const Row& row : rows_of(dump("llama_bf16"), {"--compat", "msprobe"})) {
    EXPECT_THAT(row.message, Not(HasSubstr("xplained by")));
  }
  const Finished run =
      msrun({"-api_info", dump("llama_bf16"), "--compat", "msprobe", "--message-format", "json", "-o", out()},
            scratch_.path());
  const std::size_t last = run.out.find("{\"type\":\"run_finished\"");
  ASSERT_NE(last, std::string::npos);
  const json event = json::parse(run.out.substr(last));
  EXPECT_EQ(event["suspicious"], 0);
  EXPECT_EQ(event["rounding_only"], 46);
}

TEST_F(Explain, FailOnSuspiciousLooksThroughRounding) {
  EXPECT_EQ(msrun({"-api_info", dump("llama_bf16"), "--fail-on", "suspicious", "-o", out()}, scratch_.path()).exit_code,
            0);
  EXPECT_EQ(msrun({"-api_info", dump("llama_bf16"), "--fail-on", "warning", "-o", out()}, scratch_.path()).exit_code,
            1);
  EXPECT_EQ(msrun({"-api_info", dump("llama_bf16"), "--fail-on", "suspicious", "--sim-fault",
                   "Torch.matmul.0=wrong-element", "-o", out()},
                  scratch_.path())
                .exit_code,
            1);
}

// Without a journal the Messages of the CSV tell.
TEST_F(Explain, IsKnownAgainFromTheCsvs) {
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-o", out()}, scratch_.path()).exit_code, 0);
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  fs::remove(only_journal(out()));
  const Finished again =
      msrun({"-api_info", dump("llama_bf16"), "-csv_path", result, "--message-format", "json"}, scratch_.path());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  const std::size_t last = again.out.find("{\"type\":\"run_finished\"");
  ASSERT_NE(last, std::string::npos);
  const json event = json::parse(again.out.substr(last));
  EXPECT_EQ(event["warning"], 48);
  EXPECT_EQ(event["suspicious"], 0);
}

}  // namespace
}  // namespace msrun::testing
