// What became of calls that were not checked, from the runner to the exit code: in files, events, journal and closing
// table, whichever way the call was lost, and in a run that is continued.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* notice = "simulated device; no NPU or GPU was tested";

class Outcomes : public Untouched {
 protected:
  Finished check(const std::vector<std::string>& more, const std::string& name = "llama_bf16") {
    std::vector<std::string> words{"-api_info", dump(name), "-n", "1", "-o", out(), "--summary"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }
  fs::path result() const { return only_file(out(), "accuracy_checking_result_"); }
  json journal() {
    const Finished shown = msrun({"journal", result(), "--json"}, scratch_.path());
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    return json::parse(shown.out, nullptr, false);
  }
  static std::vector<json> lines(const std::string& text) {
    std::vector<json> result;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) result.push_back(json::parse(line));
    return result;
  }
  static std::size_t count_of(const std::vector<json>& events, const std::string& outcome) {
    return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [&](const json& event) {
      return event["type"] == "api_result" && event["outcome"] == outcome;
    }));
  }
};

// A call is named as a SKIP if it is one, not for having been at work beside it.
TEST_F(Outcomes, OfCallsBesideTheOneToBlameAreNoSkip) {
  const Finished run = msrun({"-api_info", dump("cnn_fp32"), "-n", "4", "-o", out(), "--only", "Functional.conv2d.*",
                              "--sim-fault", "Functional.conv2d.1=crash", "--retries", "0", "--message-format", "json"},
                             scratch_.path());
  std::set<std::string> died;
  std::set<std::string> skipped;
  for (const json& event : lines(run.out)) {
    if (event["type"] == "runner_died") died.insert(event["skipped"].begin(), event["skipped"].end());
    if (event["type"] == "api_result" && event["outcome"] == "failed_to_run")
      skipped.insert(std::string(event["name"]));
  }
  EXPECT_EQ(died, std::set<std::string>{"Functional.conv2d.1"});
  EXPECT_EQ(skipped, died);
}

struct Fault {
  const char* name;
  std::vector<std::string> options;
};

const std::vector<Fault> faults{
    {"crash", {"--retries", "0"}}, {"oom", {"--retries", "0"}}, {"hang", {"--retries", "0", "--task-timeout", "1"}}};

TEST_F(Outcomes, OfARunInWhichEveryCallIsLostAreNoSuccess) {
  for (const Fault& fault : faults) {
    fs::remove_all(out());
    std::vector<std::string> options{"--only", "Torch.matmul.*", "--sim-fault", std::string("*=") + fault.name};
    options.insert(options.end(), fault.options.begin(), fault.options.end());
    const Finished run = check(options);
    EXPECT_EQ(run.exit_code, 1) << fault.name << run.out << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("Successfully")));
    EXPECT_THAT(run.out, HasSubstr("[ERROR] Nothing was checked: of 4 calls 4 failed to run"));
    EXPECT_THAT(run.out, Not(HasSubstr("100.00")));
    const Rows rows = read_csv(result());
    ASSERT_EQ(rows.size(), 5U);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].at(1) + "," + rows[i].at(2), "SKIP,SKIP");
      EXPECT_THAT(rows[i].at(3), StartsWith("The runner of device 0 died while running this API"));
    }
    const json counts = journal()["counts"];
    EXPECT_EQ(counts["failed_to_run"], 4);
    EXPECT_EQ(counts["skip"], 4);
    EXPECT_EQ(counts["skipped_by_rule"], 0);
    // It stays no success when it is continued with nothing left to do.
    const Finished again =
        check({"--only", "Torch.matmul.*", "--sim-fault", std::string("*=") + fault.name, "-csv_path", result()});
    EXPECT_EQ(again.exit_code, 1) << again.out << again.err;
    EXPECT_THAT(again.out, Not(HasSubstr("Successfully")));
  }
}

TEST_F(Outcomes, OfAllCallsOfARecording) {
  const Finished run = check({"--sim-fault", "*=crash", "--retries", "0", "--fail-on", "warning"});
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_THAT(run.out, HasSubstr("of 84 calls 84 failed to run"));
  EXPECT_THAT(run.out, Not(HasSubstr("Successfully")));
  EXPECT_EQ(journal()["counts"]["failed_to_run"], 84);
}

TEST_F(Outcomes, OfSomeLostCallsCountAgainstTheRunAtEveryLevel) {
  for (const Fault& fault : faults) {
    for (const std::string level : {"", "error", "warning", "suspicious", "skip"}) {
      // A hang takes a second for each call.
      if (fault.name == std::string("hang") && !level.empty() && level != "skip") continue;
      fs::remove_all(out());
      std::vector<std::string> options{"--only",   "Torch.matmul.*", "--only",
                                       "Tensor.*", "--sim-fault",    std::string("Torch.matmul.[01]=") + fault.name};
      options.insert(options.end(), fault.options.begin(), fault.options.end());
      if (!level.empty()) options.insert(options.end(), {"--fail-on", level});
      const Finished run = check(options);
      EXPECT_EQ(run.exit_code, level.empty() ? 0 : 1) << fault.name << level << run.out << run.err;
      EXPECT_THAT(run.out, HasSubstr("[WARNING] Completed acc_check/multi_acc_check, but 2 of "));
      EXPECT_THAT(run.out, Not(HasSubstr("Successfully")));
      EXPECT_THAT(run.out, Not(HasSubstr("100.00")));
      EXPECT_EQ(journal()["counts"]["failed_to_run"], 2);
    }
  }
}

TEST_F(Outcomes, OfASoundRunAreASuccess) {
  const Finished run = check({"--fail-on", "skip"});
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_THAT(run.out, HasSubstr("Successfully completed acc_check/multi_acc_check."));
  EXPECT_THAT(run.out, Not(HasSubstr("acc_check task completed."))) << "of several devices";
}

// acc_check_pytorch.md 13.1: the line that ends the log of one device.
TEST_F(Outcomes, OfOneDeviceEndWithTheDocumentedLine) {
  const Finished run = msrun({"acc_check", "-api_info", dump("llama_bf16"), "-o", out(), "--only", "Functional.silu.*"},
                             scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, ::testing::EndsWith("[INFO] acc_check task completed.\n"));
}

TEST_F(Outcomes, AreInTheEvents) {
  const Finished run = check({"--sim-fault", "Torch.matmul.*=crash", "--retries", "0", "--message-format", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::vector<json> events = lines(run.out);
  EXPECT_EQ(count_of(events, "failed_to_run"), 4U);
  EXPECT_EQ(count_of(events, "checked"), 80U);
  EXPECT_EQ(events.back()["failed_to_run"], 4);
  EXPECT_EQ(events.back()["skip"], 4);
  fs::remove_all(out());
  const Finished all =
      check({"--only", "Torch.matmul.*", "--sim-fault", "*=crash", "--retries", "0", "--message-format", "json"});
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_EQ(lines(all.out).back()["exit_code"], 1);
  EXPECT_THAT(all.err, HasSubstr("[ERROR] Nothing was checked."));
}

// When a result is read back from a CSV, only the reason tells what became of the call.
TEST_F(Outcomes, SurviveTheLossOfTheJournal) {
  const std::vector<std::string> options{"--sim-fault", "Torch.matmul.*=crash", "--retries", "0"};
  EXPECT_EQ(check(options).exit_code, 0);
  const std::string before = read_file(result());
  fs::remove(only_file(out(), "accuracy_checking_2"));
  std::vector<std::string> again = options;
  again.insert(again.end(), {"-csv_path", result(), "--fail-on", "error"});
  const Finished run = check(again);
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_EQ(journal()["counts"]["failed_to_run"], 4);
  EXPECT_EQ(read_file(result()), before);
  // Without the fault they run again, and all is well.
  const Finished mended = check({"--retry-skip", "-csv_path", result(), "--fail-on", "skip"});
  EXPECT_EQ(mended.exit_code, 0) << mended.out << mended.err;
  EXPECT_THAT(mended.out, HasSubstr("Successfully"));
  EXPECT_EQ(journal()["counts"]["failed_to_run"], 0);
}

TEST_F(Outcomes, OfCallsWithoutEnoughMemoryAreFailures) {
  const Finished run = check({"--memory", "200K", "--fail-on", "error"}, "vit_fp32");
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_THAT(run.out, Not(HasSubstr("Successfully")));
  const json counts = journal()["counts"];
  EXPECT_GT(counts["failed_to_run"], 20) << counts;
  EXPECT_EQ(counts["not_checkable"], 0) << counts;
  const Rows rows = read_csv(result());
  std::size_t lost = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].size() < 4 || rows[i][3].find("--memory") == std::string::npos) continue;
    EXPECT_EQ(rows[i][2], "SKIP") << rows[i][0];
    EXPECT_THAT(rows[i][3], HasSubstr("more than the 200 KiB of memory")) << rows[i][0];
    ++lost;
  }
  EXPECT_EQ(counts["failed_to_run"], lost);
}

constexpr const char* one_tensor =
    R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4], "Max": 1, "Min": 0, "requires_grad": false})";

std::string entry(const std::string& name, const std::string& arguments) {
  return "\"" + name + R"(.forward": {"input_args": [)" + arguments + R"(], "input_kwargs": {}, "output": []})";
}

class OutcomesOfSkips : public Outcomes {
 protected:
  Finished check_entries(const std::string& entries, const std::vector<std::string>& more) {
    const std::string path = write_dump(dump_text(entries));
    std::vector<std::string> words{"-api_info", path, "-o", out()};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }
};

TEST_F(OutcomesOfSkips, ByRuleAreExpected) {
  const std::string entries = entry("Torch.add.0", std::string(one_tensor) + "," + one_tensor) + "," +
                              entry("Distributed.send.0", one_tensor) + "," + entry("Tensor.to.0", one_tensor);
  for (const char* level : {"error", "skip"}) {
    fs::remove_all(out());
    const Finished run = check_entries(entries, {"--fail-on", level});
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_THAT(run.out, HasSubstr("Successfully"));
  }
  EXPECT_EQ(journal()["counts"]["skipped_by_rule"], 2);
  fs::remove_all(out());
  // A run of these alone has checked nothing.
  const Finished rerun = check_entries(entries, {"--only", "Tensor.to.*"});
  EXPECT_EQ(rerun.exit_code, 1) << rerun.out;
  EXPECT_THAT(rerun.out, HasSubstr("1 are left out by rule"));
  EXPECT_THAT(rerun.out, Not(HasSubstr("Successfully")));
}

TEST_F(OutcomesOfSkips, OfDamagedEntriesCountForSkipAlone) {
  const std::string entries =
      entry("Torch.add.0", std::string(one_tensor) + "," + one_tensor) + "," + entry("Torch.sin.0", "{}");
  for (const auto& [level, code] : {std::pair{"error", 0}, {"warning", 0}, {"suspicious", 0}, {"skip", 1}}) {
    fs::remove_all(out());
    const Finished run = check_entries(entries, {"--fail-on", level});
    EXPECT_EQ(run.exit_code, code) << level << run.out;
  }
  EXPECT_EQ(journal()["counts"]["not_checkable"], 1);
  EXPECT_EQ(journal()["counts"]["skipped_by_rule"], 0);
}

TEST_F(OutcomesOfSkips, InAnOverflowCheck) {
  const std::string entries =
      entry("Torch.add.0", std::string(one_tensor) + "," + one_tensor) + "," + entry("Torch.sin.0", one_tensor);
  const std::string path = write_dump(dump_text(entries));
  const auto overflow = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run_overflow_check", "-api_info", path, "--retries", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  };
  EXPECT_EQ(overflow({"--fail-on", "skip"}).exit_code, 0);
  for (const char* level : {"error", "warning", "suspicious", "skip"}) {
    const Finished some = overflow({"--sim-fault", "Torch.sin.0=crash", "--fail-on", level});
    EXPECT_EQ(some.exit_code, 1) << some.out;
  }
  EXPECT_EQ(overflow({"--sim-fault", "Torch.sin.0=crash"}).exit_code, 0);
  const Finished all = overflow({"--sim-fault", "*=crash"});
  EXPECT_EQ(all.exit_code, 1) << all.out;
  EXPECT_THAT(all.out, Not(HasSubstr("completed")));
}

class DeviceUnderTest : public Outcomes {};

TEST_F(DeviceUnderTest, ThatIsSimulatedIsNamedEverywhere) {
  for (const std::vector<std::string>& asked : {std::vector<std::string>{}, {"--backend", "sim"}}) {
    fs::remove_all(out());
    std::vector<std::string> options{"--only", "Tensor.*"};
    options.insert(options.end(), asked.begin(), asked.end());
    const Finished run = check(options);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    const std::size_t warning = run.out.find(std::string("[WARNING] Device under test: sim (") + notice);
    EXPECT_NE(warning, std::string::npos) << run.out;
    EXPECT_NE(run.out.find(notice, warning + 60), std::string::npos) << "the closing table: " << run.out;
    EXPECT_EQ(journal()["notice"], notice);
    EXPECT_EQ(journal()["metadata"]["tested_on"], "simulated");
    EXPECT_THAT(msrun({"journal", result()}, scratch_.path()).out, HasSubstr(notice));
    options.insert(options.end(), {"--message-format", "json"});
    fs::remove_all(out());
    const std::vector<json> events = lines(check(options).out);
    EXPECT_EQ(events.front()["notice"], notice);
    EXPECT_EQ(events.front()["tested_on"], "simulated");
    EXPECT_EQ(events.back()["notice"], notice);
  }
}

TEST_F(DeviceUnderTest, IsTheRecordingWhereThatHoldsTensors) {
  const Finished run = check({"--fail-on", "suspicious", "--recorded-on", "cpu"}, "zoo_tensor");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_THAT(run.out, HasSubstr("Device under test: recorded"));
  // What its CPU rounded on the way is listed, but not accused.
  EXPECT_THAT(run.out, HasSubstr("suspicious 0"));
  EXPECT_THAT(run.out, Not(HasSubstr(notice)));
  EXPECT_TRUE(journal()["notice"].is_null());
  fs::remove_all(out());
  const Finished simulated = check({"--backend", "sim", "--only", "Torch.*"}, "zoo_tensor");
  EXPECT_THAT(simulated.out, HasSubstr(notice));
}

TEST_F(DeviceUnderTest, ThatIsNoneIsRefusedWhereOneIsRequired) {
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{}, {"--backend", "sim"}, {"--sim-fault", "*=crash"}}) {
    const Finished run = [&] {
      std::vector<std::string> options{"--require-device"};
      options.insert(options.end(), asked.begin(), asked.end());
      return check(options);
    }();
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_THAT(run.err, HasSubstr("--require-device: there is no NPU or GPU to test"));
    EXPECT_FALSE(fs::exists(out()));
  }
  EXPECT_EQ(check({"--require-device", "--backend", "recorded"}, "zoo_tensor").exit_code, 2);
}

class Reasons : public Outcomes {};

TEST_F(Reasons, OfWarningsAndErrorsAreInTheResultFile) {
  const Finished run = check({"--sim-fault", "Torch.matmul.*=acc-fp16"}, "llama_fp32");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  const Rows rows = read_csv(result());
  std::size_t suspicious = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const bool verdict =
        rows[i][1] == "error" || rows[i][1] == "warning" || rows[i][2] == "error" || rows[i][2] == "warning";
    const bool skip = rows[i][1] == "SKIP" || rows[i][2] == "SKIP";
    ASSERT_EQ(rows[i].size(), verdict || skip ? 4U : 3U) << rows[i][0];
    if (!verdict) continue;
    EXPECT_THAT(rows[i][3], HasSubstr(notice));
    EXPECT_EQ(rows[i][3].find('\n'), std::string::npos);
    if (!rows[i][3].starts_with("Suspicious: ")) continue;
    ++suspicious;
    EXPECT_THAT(rows[i][3], HasSubstr("Suspicious: forward.output.0: Not explained by rounding: "));
    EXPECT_THAT(rows[i][3], HasSubstr("by more than 1e6 ULP"));
    EXPECT_THAT(rows[i][3], HasSubstr("Errors are those of float16 accumulation"));
  }
  EXPECT_EQ(suspicious, 4U);
  EXPECT_THAT(run.out, Not(HasSubstr("e+09 ULP")));
  // Rendered again from the journal, and read back without it, the file stays the same.
  const std::string before = read_file(result());
  const std::vector<std::string> resume{"--sim-fault", "Torch.matmul.*=acc-fp16", "-csv_path", result()};
  EXPECT_EQ(check(resume, "llama_fp32").exit_code, 0);
  EXPECT_EQ(read_file(result()), before);
  fs::remove(only_file(out(), "accuracy_checking_2"));
  EXPECT_EQ(check(resume, "llama_fp32").exit_code, 0);
  EXPECT_EQ(read_file(result()), before);
}

TEST_F(Reasons, AreNotInTheFilesOfMsprobe) {
  EXPECT_EQ(check({"--sim-fault", "Torch.matmul.*=acc-fp16", "--compat", "msprobe"}, "llama_fp32").exit_code, 0);
  const std::string text = read_file(result());
  EXPECT_THAT(text, Not(HasSubstr("Suspicious")));
  EXPECT_THAT(text, Not(HasSubstr("ULP")));
  EXPECT_THAT(text, Not(HasSubstr(notice)));
}

TEST_F(Reasons, AreInTheEvents) {
  const Finished run = check(
      {"--sim-fault", "Torch.matmul.*=acc-fp16", "--only", "Torch.matmul.*", "--message-format", "json"}, "llama_fp32");
  std::size_t suspicious = 0;
  for (const json& event : lines(run.out)) {
    if (event["type"] != "api_result" || event["suspicious"] != true) continue;
    ++suspicious;
    EXPECT_EQ(event["output"], "forward.output.0");
    EXPECT_THAT(event["reason"].get<std::string>(), StartsWith("Not explained by rounding: "));
    EXPECT_EQ(event["tested_on"], "simulated");
  }
  EXPECT_EQ(suspicious, 4U);
}

}  // namespace
}  // namespace msrun::testing
