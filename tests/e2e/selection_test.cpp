// Which calls a run is about, from patterns, -f and -config, and recordings that hold none.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class SelectedCalls : public Untouched {
 protected:
  Finished check(const std::vector<std::string>& more, const std::string& api_info = dump("llama_bf16")) {
    std::vector<std::string> arguments{"-api_info", api_info, "-o", out()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return msrun(arguments, scratch_.path());
  }
  void expect_selection_refused(const std::vector<std::string>& more, const std::vector<std::string>& parts) {
    for (const char* command : {"acc_check", "run_overflow_check"}) {
      std::vector<std::string> arguments{command, "-api_info", dump("llama_bf16"), "-o", out()};
      arguments.insert(arguments.end(), more.begin(), more.end());
      expect_refused(arguments, parts);
    }
  }
  std::vector<std::string> checked() { return names(read_csv(only_file(out(), "accuracy_checking_result_"))); }
  Json journal() { return Json::parse(msrun({"journal", only_journal(out()), "--json"}, scratch_.path()).out); }
};

TEST_F(SelectedCalls, PatternsThatMeetNoCallAreRefusedWithTheNearest) {
  const std::string what = "A pattern stands for whole names of calls, such as ";
  const std::string nearest = "the nearest among the calls to check: 'Torch.matmul.*' (4 calls)";
  for (const char* pattern : {"Torch.matmull*", "matmul", "torch.matmul.*", "Torch.matmul", "torch.matmul.0.forward"}) {
    expect_selection_refused({"--only", pattern}, {"--only: no call matches ", nearest, what});
  }
  expect_selection_refused({"--only", "A,B"},
                           {"no call matches A; the calls to check are of ", "no call matches B; ", what});
  expect_selection_refused({"--except", "*"}, {"--except leaves no call to check.", what});
  expect_selection_refused({"--only", "Torch.matmul.*", "--except", "Torch.*.backward"}, {"--except leaves no call"});
}

TEST_F(SelectedCalls, SeveralPatternsAndNamesOfEntriesAreTaken) {
  const Finished run = check({"--only", "Torch.matmul.0.forward,Torch.matmul.1.backward", "--only", "Functional.silu.*",
                              "--except", "Functional.silu.1.forward"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(checked(), ElementsAre("Torch.matmul.0", "Torch.matmul.1", "Functional.silu.0"));
}

TEST_F(SelectedCalls, ExceptLeavesCallsOutAndGoesOnWithThat) {
  ASSERT_EQ(check({"--except", "Functional.*,Tensor.*"}).exit_code, 0);
  const std::vector<std::string> rest = checked();
  EXPECT_FALSE(rest.empty());
  for (const std::string& name : rest) EXPECT_TRUE(name.starts_with("Torch.")) << name;
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  const std::string before = read_file(result);
  const Finished again = check({"--except", "Functional.*,Tensor.*", "-csv_path", result});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(read_file(result), before);
}

TEST_F(SelectedCalls, RecordingsWithoutCallsAreRefused) {
  const auto refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    const std::string path = write_dump(text);
    for (const char* command : {"multi_acc_check", "run_overflow_check"}) {
      std::vector<std::string> named = parts;
      named.push_back(path);
      expect_refused({command, "-api_info", path, "-o", out()}, named);
    }
  };
  const std::string tensor = R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], )";
  const std::string statistics = tensor + R"("Max": 1, "Min": 0, "Mean": 0, "Norm": 1, "requires_grad": true})";
  const auto entry = [](const std::string& name, const std::string& arguments) {
    return '"' + name + R"(": {"input_args": [)" + arguments + R"(], "input_kwargs": {}, "output": []})";
  };
  const std::string empty = write_dump(dump_text(""));
  expect_refused({"-api_info", empty, "-o", out()}, {empty, "data field is empty, there is no call to check."});
  refused(R"({"task": "statistics", "level": "L0", "framework": "pytorch", "dump_data_dir": null, "data": {)" +
              entry("Module.fc.Linear.forward.0", statistics) + "}}",
          {"records modules only; record level L1 or mix"});
  refused(dump_text(entry("Torch.exp.0.backward", statistics)), {"records no call"});
  refused(dump_text(entry("Torch.exp.0.forward", tensor + R"("requires_grad": true, "md5": "0xfe3a2b1c0d9e8f70"})")),
          {"md5 checksums only", "record statistics or tensors"});
  // Beside statistics a checksum is no harm, and neither is a module beside calls.
  const std::string both =
      tensor + R"("Max": 1, "Min": 0, "Mean": 0, "Norm": 1, "requires_grad": true, "md5": "00ff"})";
  const std::string good =
      write_dump(dump_text(entry("Module.fc.Linear.forward.0", statistics) + "," + entry("Torch.exp.0.forward", both)));
  EXPECT_EQ(check({}, good).exit_code, 0);
  EXPECT_THAT(checked(), ElementsAre("Torch.exp.0"));
}

TEST_F(SelectedCalls, ADirectoryInPlaceOfADumpIsSearched) {
  fs::create_directories(scratch_ / "dumps/step0/rank0");
  expect_refused({"-api_info", scratch_ / "dumps", "-o", out()},
                 {"-api_info: there is no dump.json in ", scratch_ / "dumps", " or below it."});
  write_file(scratch_ / "dumps/forward_info_3.json", "{}");
  expect_refused({"-forward", scratch_ / "dumps", "-o", out()}, {"-forward", "forward_info_3.json"});
}

TEST_F(SelectedCalls, RepeatedCallsAreLeftOutAndTheJournalSaysWhoStandsForThem) {
  const Finished run = check({"-f"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("repeated calls that are left out: 52; represented by "));
  const std::vector<std::string> kept = checked();
  EXPECT_EQ(kept.size(), 32U);
  const Json represented = journal()["metadata"]["represented"];
  std::size_t left_out = 0;
  for (const auto& [name, others] : represented.items()) {
    EXPECT_NE(std::find(kept.begin(), kept.end(), name), kept.end()) << name;
    left_out += others.size();
  }
  EXPECT_EQ(left_out, 52U);
  EXPECT_THAT(represented["Functional.silu.0"], ElementsAre("Functional.silu.1"));
  // With statistics of its own msProbe's rule tells nearly all of them apart.
  EXPECT_THAT(
      msrun({"-api_info", dump("llama_bf16"), "-f", "--filter-compat", "-o", scratch_ / "compat"}, scratch_.path()).out,
      HasSubstr("repeated calls that are left out: 1; represented by "));
}

TEST_F(SelectedCalls, AFilteredRunGoesOnWhereItStopped) {
  ASSERT_EQ(check({"-f"}).exit_code, 0);
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  const std::string whole = read_file(result);
  Process run({"-api_info", dump("llama_bf16"), "-f", "-n", "2", "-o", scratch_ / "cut", "--sim-fault",
               "Functional.silu.0=hang"},
              scratch_.path());
  ASSERT_TRUE(eventually(60, [&] {
    const fs::path csv = csv_in(scratch_ / "cut", "accuracy_checking_result_");
    return !csv.empty() && std::ranges::count(read_file(csv), '\n') > 5;
  }));
  run.signal(SIGKILL);
  run.wait();
  const fs::path cut = csv_in(scratch_ / "cut", "accuracy_checking_result_");
  const Finished again = msrun({"-api_info", dump("llama_bf16"), "-f", "-n", "1", "-csv_path", cut, "--task-timeout",
                                "2", "--retries", "0", "--sim-fault", "Functional.silu.0=hang"},
                               scratch_.path());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(names(read_csv(cut)), names(read_csv(result)));
}

TEST_F(SelectedCalls, ConfigMayBeYaml) {
  write_file(scratch_ / "config.yaml",
             "white_list: [silu, matmul]\nblack_list:\n  - matmul\nprecision: 4\nwhitelist: []\n");
  const Finished run = check({"-config", scratch_ / "config.yaml"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[WARNING] " + (scratch_ / "config.yaml").string() + ": there is no key whitelist"));
  for (const auto& row : read_csv(only_file(out(), "accuracy_checking_result_"))) {
    if (row[0] == "API name") continue;
    EXPECT_EQ(row[1] != "SKIP", row[0].starts_with("Functional.silu.")) << row[0];
  }
  const Rows details = read_csv(only_file(out(), "accuracy_checking_details_"));
  const auto silu =
      std::ranges::find(details, "Functional.silu.0.forward.output.0", [](const auto& row) { return row[0]; });
  ASSERT_NE(silu, details.end());
  // The cosine is the first metric that every API has: four decimals.
  EXPECT_THAT(silu->at(4), ::testing::MatchesRegex("[01]\\.[0-9]{4}"));
}

// msProbe's lists may name operators that it knows and does not execute; its configurations go on to work.
TEST_F(SelectedCalls, ListsMayNameOperatorsThatAreNotExecuted) {
  const fs::path config = scratch_ / "config.json";
  write_file(config, R"({"acc_check": {"white_list": ["silu"],
                                       "black_list": ["npu_dynamic_quant", "npu_grouped_matmul", "empty_with_format"]}})");
  EXPECT_EQ(check({"-config", config}).exit_code, 0);
  write_file(config, R"({"acc_check": {"black_list": ["all_reduce"]}})");
  const Finished refused = check({"-config", config});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("Invalid api in black_list: ['all_reduce']"));
}

TEST_F(SelectedCalls, ErrorDataLieBesideTheCsvs) {
  const fs::path here = fs::current_path();
  ASSERT_EQ(check({"-save_error_data", "--only", "Functional.silu.0", "--sim-fault", "Functional.silu.0=wrong-block"})
                .exit_code,
            0);
  EXPECT_TRUE(fs::is_directory(only_file(out(), "ut_error_data")));
  EXPECT_FALSE(fs::is_empty(only_file(out(), "ut_error_data")));
  for (const fs::directory_entry& entry : fs::directory_iterator(here)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("ut_error_data")) << entry.path();
  }
}

TEST_F(SelectedCalls, ListsArePrintedAsJson) {
  for (const char* list : {"--list-apis", "--list-standards", "--list-judgement", "--list-faults"}) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{list, "--json"}, {list, "--message-format", "json"}}) {
      const Finished run = msrun(words, scratch_.path());
      EXPECT_EQ(run.exit_code, 0) << list;
      EXPECT_TRUE(Json::parse(run.out, nullptr, false).is_object()) << list;
    }
  }
}

TEST_F(SelectedCalls, JitOnASimulatedDeviceIsSaidToDoNothing) {
  const Finished run = check({"-j", "--only", "Functional.silu.0"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("[WARNING] -j does nothing: the backend sim compiles no operators."));
}

}  // namespace
}  // namespace msrun::testing
