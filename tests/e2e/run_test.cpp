// Runs as a whole: processes, determinism, resume, per-device files, messages.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string result_text(const fs::path& directory) {
  return read_file(only_file(directory, "accuracy_checking_result_"));
}
std::string details_text(const fs::path& directory) {
  return read_file(only_file(directory, "accuracy_checking_details_"));
}

std::size_t lines(const fs::path& path) {
  const std::string text = read_file(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Run, OneSupervisorAndOneRunnerPerDevice) {
  const TemporaryDirectory scratch;
  Process run({"-api_info", dump("llama_bf16"), "-n", "4", "-d", "0", "1", "-o", scratch / "out", "--sim-fault",
               "Functional.embedding.0=hang"},
              scratch.path());
  std::vector<std::string> commands;
  // A runner is a child first and gets its name a moment later.
  ASSERT_TRUE(eventually(20, [&] {
    commands.clear();
    for (const auto& [pid, name] : children(run.pid())) commands.push_back(name);
    return commands.size() == 2 && std::count(commands.begin(), commands.end(), "msrun") == 0;
  }));
  EXPECT_THAT(commands, ::testing::UnorderedElementsAre("msrun-dev0", "msrun-dev1"));
  run.signal(SIGINT);
  // Two at once would count as one.
  ASSERT_TRUE(eventually(20, [&] { return run.out().find("press Ctrl-C again") != std::string::npos; }));
  run.signal(SIGINT);
  ASSERT_TRUE(eventually(20, [&] { return !run.running(); }));
  const Finished finished = run.wait();
  EXPECT_EQ(finished.exit_code, 3) << finished.out;
  EXPECT_THAT(finished.out, HasSubstr("-csv_path"));
  EXPECT_TRUE(eventually(5, [&] { return processes_with(scratch.path().string()) == 0; }));
}

TEST(Run, FilesDoNotDependOnThreadsAndDevices) {
  const TemporaryDirectory scratch;
  for (const char* name : {"llama_bf16", "cnn_fp32", "moe_bf16"}) {
    const fs::path one = scratch / (std::string(name) + "_one");
    const fs::path many = scratch / (std::string(name) + "_many");
    ASSERT_EQ(msrun({"-api_info", dump(name), "-n", "1", "-d", "0", "-o", one}, scratch.path()).exit_code, 0);
    ASSERT_EQ(
        msrun({"-api_info", dump(name), "-n", "32", "-d", "0", "1", "2", "3", "-o", many}, scratch.path()).exit_code,
        0);
    EXPECT_EQ(result_text(one), result_text(many)) << name;
    EXPECT_EQ(details_text(one), details_text(many)) << name;
  }
}

TEST(Run, EveryDeviceHasItsShareOfTheRows) {
  const TemporaryDirectory scratch;
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-n", "4", "-d", "2", "5", "-o", scratch / "out"}, scratch.path())
                .exit_code,
            0);
  const Rows all = read_csv(only_file(scratch / "out", "accuracy_checking_result_"));
  Rows joined;
  for (const char* device : {"device2", "device5"}) {
    if (!fs::exists(scratch / "out" / device)) continue;  // the other one was faster with every call
    const Rows share = read_csv(only_file(scratch / "out" / device, "accuracy_checking_result_"));
    EXPECT_EQ(share.at(0), all.at(0));
    EXPECT_EQ(only_file(scratch / "out" / device, "accuracy_checking_result_").filename(),
              only_file(scratch / "out", "accuracy_checking_result_").filename());
    joined.insert(joined.end(), share.begin() + 1, share.end());
  }
  Rows expected(all.begin() + 1, all.end());
  std::sort(joined.begin(), joined.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(joined, expected);
}

class Resume : public ::testing::Test {
 protected:
  // Runs until a third of the calls at least are done, then kills the supervisor, which cannot clean up. One call
  // hangs, so that some are left.
  fs::path killed_run(const fs::path& out) {
    Process run({"-api_info", dump("llama_mid_bf16"), "-n", "2", "-d", "0", "1", "-o", out, "--sim-fault",
                 "Tensor.__mul__.0=hang"},
                scratch_.path());
    fs::path result;
    const bool reached = eventually(60, [&] {
      std::error_code ignored;
      if (!fs::exists(out, ignored)) return false;
      for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
        if (entry.path().filename().string().starts_with("accuracy_checking_result_")) result = entry.path();
      }
      return !result.empty() && lines(result) > 25;
    });
    EXPECT_TRUE(reached);
    const auto runners = children(run.pid());
    run.signal(SIGKILL);
    run.wait();
    EXPECT_TRUE(eventually(10, [&] {
      return std::none_of(runners.begin(), runners.end(),
                          [](const auto& runner) { return ::kill(runner.first, 0) == 0; });
    })) << "a runner outlived its supervisor";
    EXPECT_LT(lines(result), 85U);
    return result;
  }

  TemporaryDirectory scratch_;
};

TEST_F(Resume, AfterTheSupervisorWasKilledGivesTheSameFiles) {
  const fs::path whole = scratch_ / "whole";
  ASSERT_EQ(msrun({"-api_info", dump("llama_mid_bf16"), "-n", "2", "-d", "0", "-o", whole}, scratch_.path()).exit_code,
            0);
  const fs::path cut = scratch_ / "cut";
  const fs::path result = killed_run(cut);
  const Finished resumed =
      msrun({"-api_info", dump("llama_mid_bf16"), "-n", "4", "-d", "0", "-csv_path", result}, scratch_.path());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("calls were finished by the earlier run"));
  EXPECT_EQ(result_text(cut), result_text(whole));
  EXPECT_EQ(details_text(cut), details_text(whole));
}

TEST_F(Resume, WithoutAJournalTakesWhatTheCsvsHold) {
  const fs::path whole = scratch_ / "whole";
  ASSERT_EQ(msrun({"-api_info", dump("zoo_stat"), "-n", "2", "-d", "0", "-o", whole}, scratch_.path()).exit_code, 0);
  const std::string result = result_text(whole);
  const std::string details = details_text(whole);
  const fs::path result_path = only_file(whole, "accuracy_checking_result_");
  // As a tool that keeps no journal leaves them: half of the rows, the last one torn.
  std::size_t middle = result.find("\r\n", result.size() / 2);
  write_file(result_path, result.substr(0, middle + 10));
  fs::remove(only_file(whole, "accuracy_checking_2"));
  const Finished resumed = msrun({"-api_info", dump("zoo_stat"), "-n", "2", "-csv_path", result_path}, scratch_.path());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  EXPECT_EQ(result_text(whole), result);
  EXPECT_EQ(details_text(whole), details);
}

TEST_F(Resume, OfAFinishedRunChangesNothing) {
  const fs::path out = scratch_ / "out";
  ASSERT_EQ(msrun({"-api_info", dump("vit_fp32"), "-o", out}, scratch_.path()).exit_code, 0);
  const std::string result = result_text(out);
  const std::string details = details_text(out);
  const Finished again =
      msrun({"-api_info", dump("vit_fp32"), "-csv_path", only_file(out, "accuracy_checking_result_")}, scratch_.path());
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(result_text(out), result);
  EXPECT_EQ(details_text(out), details);
}

TEST_F(Resume, RefusesAnotherDump) {
  const fs::path out = scratch_ / "out";
  ASSERT_EQ(msrun({"-api_info", dump("vit_fp32"), "-o", out}, scratch_.path()).exit_code, 0);
  const std::string result = result_text(out);
  const Finished other =
      msrun({"-api_info", dump("cnn_fp32"), "-csv_path", only_file(out, "accuracy_checking_result_")}, scratch_.path());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("dump"));
  const Finished seed =
      msrun({"-api_info", dump("vit_fp32"), "--seed", "5", "-csv_path", only_file(out, "accuracy_checking_result_")},
            scratch_.path());
  EXPECT_EQ(seed.exit_code, 2);
  EXPECT_THAT(seed.err, HasSubstr("seed (1234 then, 5 now)"));
  EXPECT_EQ(result_text(out), result);
}

TEST(Patterns, ThatMatchNoCallAreNamed) {
  const TemporaryDirectory scratch;
  const Finished run = msrun({"-api_info", dump("vit_fp32"), "-o", scratch / "out", "--only", "Functional.linear.0",
                              "--only", "linear", "--sim-fault", "conv2d=hf32"},
                             scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[WARNING] --only: no call matches linear; the nearest among the calls to check: "
                                 "'Functional.linear.*' ("));
  EXPECT_THAT(run.out, HasSubstr("[WARNING] --sim-fault: no call matches conv2d; the calls to check are of "
                                 "'Functional.linear.*' (1 call)."));
  EXPECT_EQ(run.out.find("matches Functional"), std::string::npos) << run.out;
}

TEST(Patterns, OfRanksSayThatThereIsOneAlone) {
  const TemporaryDirectory scratch;
  const Finished run = msrun({"-api_info", dump("vit_fp32"), "-o", scratch / "out", "--only", "Functional.linear.0",
                              "--across-ranks", "values"},
                             scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[WARNING] --across-ranks does nothing: "));
}

TEST(Death, OfARunnerIsRetriedThenRecorded) {
  const TemporaryDirectory scratch;
  const fs::path whole = scratch / "whole";
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-n", "4", "-d", "0", "1", "-o", whole}, scratch.path()).exit_code,
            0);
  const fs::path out = scratch / "out";
  const Finished run = msrun(
      {"-api_info", dump("llama_bf16"), "-n", "4", "-d", "0", "1", "-o", out, "--sim-fault", "Functional.silu.*=crash"},
      scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const Rows sound = read_csv(only_file(whole, "accuracy_checking_result_"));
  const Rows rows = read_csv(only_file(out, "accuracy_checking_result_"));
  ASSERT_EQ(rows.size(), sound.size());
  int crashed = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i][0].starts_with("Functional.silu.")) {
      ++crashed;
      EXPECT_EQ(rows[i][1], "SKIP");
      EXPECT_THAT(rows[i].back(), HasSubstr("SIGSEGV"));
      EXPECT_THAT(rows[i].back(), HasSubstr("attempt 3"));
    } else {
      EXPECT_EQ(rows[i], sound[i]);
    }
  }
  EXPECT_EQ(crashed, 2);
}

TEST(Death, ByTimeOutIsRecorded) {
  const TemporaryDirectory scratch;
  const Finished run = msrun({"-api_info", dump("vit_fp32"), "-n", "2", "-o", scratch / "out", "--sim-fault",
                              "Functional.gelu.0=hang", "--task-timeout", "6", "--retries", "0"},
                             scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const Rows rows = read_csv(only_file(scratch / "out", "accuracy_checking_result_"));
  for (const auto& row : rows) {
    if (row[0] == "Functional.gelu.0") {
      EXPECT_THAT(row.back(), HasSubstr("no result within 6 s"));
    } else if (row[0] != "API name") {
      EXPECT_EQ(row[1], "pass") << row[0];
    }
  }
}

// As the kernel kills when memory runs out: every call in flight may be to blame, so the one that is runs alone in the
// end.
TEST(Death, ByAKillFromOutsideCostsOnlyTheCallThatCausesIt) {
  const TemporaryDirectory scratch;
  const Finished run =
      msrun({"-api_info", dump("vit_fp32"), "-n", "4", "-o", scratch / "out", "--sim-fault", "Functional.gelu.0=oom"},
            scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  for (const auto& row : read_csv(only_file(scratch / "out", "accuracy_checking_result_"))) {
    if (row[0] == "Functional.gelu.0") {
      EXPECT_THAT(row.back(), HasSubstr("killed by signal 9 (SIGKILL), attempt 3"));
    } else if (row[0] != "API name") {
      EXPECT_EQ(row[1], "pass") << row[0];
    }
  }
}

TEST(Death, WithoutRetriesTheFirstOneCounts) {
  const TemporaryDirectory scratch;
  const Finished run = msrun({"-api_info", dump("vit_fp32"), "-n", "1", "-o", scratch / "out", "--sim-fault",
                              "Functional.gelu.0=crash", "--retries", "0"},
                             scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  for (const auto& row : read_csv(only_file(scratch / "out", "accuracy_checking_result_"))) {
    if (row[0] != "Functional.gelu.0") continue;
    EXPECT_THAT(row.back(), HasSubstr("attempt 1"));
  }
}

// The call that was in flight in two runs that died may have killed the host: it comes last, alone.
TEST(Death, OfTheSupervisorTwiceMakesACallSuspect) {
  const TemporaryDirectory scratch;
  const std::vector<std::string> arguments{"-api_info", dump("vit_fp32"), "-n",          "2",
                                           "-o",        scratch / "out",  "--sim-fault", "Functional.gelu.0=hang"};
  std::vector<std::string> again = arguments;
  const auto notes_of_calls_in_flight = [&] {
    const Finished told = msrun({"journal", scratch / "out", "--json"}, scratch.path());
    const nlohmann::json journal = nlohmann::json::parse(told.out, nullptr, false);
    return journal.is_object() ? journal.value("attempt_notes", 0) : 0;
  };
  int known_notes = 0;
  for (int death = 0; death < 2; ++death) {
    Process run(again, scratch.path());
    // Everything but the hanging call is done: nothing else can be in flight.
    ASSERT_TRUE(eventually(30, [&] {
      if (!fs::exists(scratch / "out")) return false;
      for (const fs::directory_entry& file : fs::directory_iterator(scratch / "out")) {
        const bool result = file.path().filename().string().starts_with("accuracy_checking_result_");
        if (result && lines(file.path()) == 55) return true;
      }
      return false;
    })) << run.out();
    // A run notes that it begins, and the call that it takes up.
    ASSERT_TRUE(eventually(30, [&] { return notes_of_calls_in_flight() >= known_notes + 2; })) << run.out();
    run.signal(SIGKILL);
    run.wait();
    known_notes = notes_of_calls_in_flight();
    if (death == 0) again.insert(again.end(), {"-csv_path", only_file(scratch / "out", "accuracy_checking_result_")});
  }
  again.insert(again.end(), {"--task-timeout", "1", "--retries", "0"});
  const Finished last = msrun(again, scratch.path());
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_THAT(last.out + last.err, HasSubstr("1 calls were in flight when a run died, twice or more"));
  EXPECT_THAT(last.out + last.err, HasSubstr("Functional.gelu.0"));
  const Rows rows = read_csv(only_file(scratch / "out", "accuracy_checking_result_"));
  EXPECT_EQ(rows.size(), 56U);
}

TEST(SimFault, AResultThatIsWrongOnceIsSaidToChange) {
  const TemporaryDirectory scratch;
  const Finished run = msrun({"-api_info", dump("vit_fp32"), "-n", "1", "-o", scratch / "out", "--sim-fault",
                              "Functional.gelu.0=wrong-once", "--sim-fault", "Functional.layer_norm.0=wrong-block"},
                             scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string changed = "The device's result was another one when the call was run again.";
  int errors = 0;
  for (const auto& row : read_csv(only_file(scratch / "out", "accuracy_checking_details_"))) {
    if (row[0].starts_with("Functional.gelu.0.") && row[row.size() - 2] == "error") {
      ++errors;
      EXPECT_THAT(row.back(), HasSubstr(changed)) << row[0];
    } else {
      EXPECT_THAT(row.back(), Not(HasSubstr(changed))) << row[0];
    }
  }
  EXPECT_GT(errors, 0);
}

TEST(Messages, JsonLinesTellTheWholeRun) {
  const TemporaryDirectory scratch;
  const Finished run =
      msrun({"-api_info", dump("vit_fp32"), "-o", scratch / "out", "--message-format", "json"}, scratch.path());
  ASSERT_EQ(run.exit_code, 0);
  std::istringstream text(run.out);
  std::string line;
  std::map<std::string, int> events;
  while (std::getline(text, line)) {
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(event.is_object()) << line;
    ++events[event.value("event", event.value("type", "?"))];
  }
  EXPECT_EQ(events["api_result"], 55);
  EXPECT_EQ(events["run_started"], 1);
  EXPECT_EQ(events["run_finished"], 1);
}

TEST(Messages, FailOnDecidesTheExitCode) {
  const TemporaryDirectory scratch;
  EXPECT_EQ(
      msrun({"-api_info", dump("llama_bf16"), "-o", scratch / "a", "--fail-on", "error"}, scratch.path()).exit_code, 0);
  EXPECT_EQ(
      msrun({"-api_info", dump("llama_bf16"), "-o", scratch / "b", "--fail-on", "warning"}, scratch.path()).exit_code,
      1);
}

TEST(Selection, OnlyRunsWhatIsAsked) {
  const TemporaryDirectory scratch;
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-o", scratch / "out", "--only", "Functional.silu.*", "--only",
                   "Torch.matmul.0"},
                  scratch.path())
                .exit_code,
            0);
  EXPECT_THAT(names(read_csv(only_file(scratch / "out", "accuracy_checking_result_"))),
              ::testing::ElementsAre("Torch.matmul.0", "Functional.silu.0", "Functional.silu.1"));
}

TEST(Selection, WhiteAndBlackListSkipTheRest) {
  const TemporaryDirectory scratch;
  write_file(scratch / "config.json", R"({"acc_check": {"white_list": ["silu", "matmul"], "black_list": ["matmul"]}})");
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-o", scratch / "out", "-config", scratch / "config.json"},
                  scratch.path())
                .exit_code,
            0);
  for (const auto& row : read_csv(only_file(scratch / "out", "accuracy_checking_result_"))) {
    if (row[0] == "API name") continue;
    if (row[0].starts_with("Functional.silu.")) {
      EXPECT_NE(row[1], "SKIP");
    } else {
      EXPECT_EQ(row[1], "SKIP") << row[0];
      EXPECT_THAT(row.back(), HasSubstr("in black list or not in white list. SKIP."));
    }
  }
}

// A conversion is left out whatever the lists say: where there are none, nobody speaks of them.
TEST(Selection, WhatIsNeverRunIsNotBlamedOnLists) {
  const TemporaryDirectory scratch;
  scratch.write("dump.json",
                R"({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {
                  "Torch.empty.0.forward": {"input_args": [{"type": "int", "value": 4}], "input_kwargs": {},
                                            "output": []}}})");
  const auto message = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"-api_info", scratch / "dump.json", "-o", scratch / "out", "--backend", "sim"});
    fs::remove_all(scratch / "out");
    EXPECT_EQ(msrun(more, scratch.path()).exit_code, 1);
    return read_csv(only_file(scratch / "out", "accuracy_checking_result_")).at(1).back();
  };
  EXPECT_EQ(message({}), "API empty is not checked: it converts, or returns memory that nobody has written. SKIP.");
  EXPECT_EQ(message({"--compat", "msprobe"}), "API empty in black list or not in white list. SKIP.");
}

TEST(ErrorData, HoldsTheTensorsOfCallsThatDoNotPass) {
  const TemporaryDirectory scratch;
  write_file(scratch / "config.json", R"({"acc_check": {"error_data_path": ")" + scratch.path().string() + R"("}})");
  ASSERT_EQ(
      msrun({"-api_info", dump("llama_fp32"), "-o", scratch / "out", "-save_error_data", "-config",
             scratch / "config.json", "--only", "Functional.silu.*", "--sim-fault", "Functional.silu.0=wrong-block"},
            scratch.path())
          .exit_code,
      0);
  const fs::path directory = only_file(scratch.path(), "ut_error_data");
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) files.push_back(entry.path().filename());
  EXPECT_THAT(files,
              ::testing::UnorderedElementsAre(
                  "Functional.silu.0.forward.input.0.pt", "Functional.silu.0.forward.output.bench.0.pt",
                  "Functional.silu.0.forward.output.device.0.pt", "Functional.silu.0.backward.input.0.pt",
                  "Functional.silu.0.backward.output.bench.0.pt", "Functional.silu.0.backward.output.device.0.pt"));
}

// A factor of 1.0001 is within the documented limits, and far beyond what rounding does to float32.
TEST(ErrorData, HoldsTheTensorsOfASuspiciousPass) {
  const TemporaryDirectory scratch;
  ASSERT_EQ(msrun({"-api_info", dump("llama_fp32"), "-o", scratch / "out", "-save_error_data", "--only",
                   "Functional.silu.*", "--sim-fault", "Functional.silu.0=scale=1.0001"},
                  scratch.path())
                .exit_code,
            0);
  const auto rows = read_csv(only_file(scratch / "out", "accuracy_checking_result_"));
  EXPECT_EQ(rows.at(1).at(0), "Functional.silu.0");
  EXPECT_EQ(rows.at(1).at(1), "pass");
  EXPECT_THAT(rows.at(1).at(3), ::testing::StartsWith("Suspicious: "));
  const fs::path directory = only_file(scratch / "out", "ut_error_data");
  EXPECT_TRUE(fs::exists(directory / "Functional.silu.0.forward.output.device.0.pt"));
  EXPECT_FALSE(fs::exists(directory / "Functional.silu.1.forward.output.device.0.pt"));
}

TEST(SeedModes, StreamIsDeterministicToo) {
  const TemporaryDirectory scratch;
  for (const auto& [name, threads] : {std::pair{"a", "1"}, std::pair{"b", "8"}}) {
    ASSERT_EQ(msrun({"-api_info", dump("cnn_fp32"), "-n", threads, "--seed-mode", "stream", "-o", scratch / name},
                    scratch.path())
                  .exit_code,
              0);
  }
  EXPECT_EQ(details_text(scratch / "a"), details_text(scratch / "b"));
  ASSERT_EQ(msrun({"-api_info", dump("cnn_fp32"), "-o", scratch / "c"}, scratch.path()).exit_code, 0);
  EXPECT_NE(details_text(scratch / "a"), details_text(scratch / "c"));
}

TEST(Newcomer, HelpVersionAndListing) {
  const TemporaryDirectory scratch;
  const Finished help = msrun({"--help"}, scratch.path());
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("-api_info"));
  EXPECT_EQ(msrun({"--version"}, scratch.path()).exit_code, 0);
  const Finished apis = msrun({"--list-apis"}, scratch.path());
  EXPECT_EQ(apis.exit_code, 0);
  EXPECT_THAT(apis.out, HasSubstr("Functional.layer_norm"));
  const Finished nothing = msrun({}, scratch.path());
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, Not(::testing::IsEmpty()));
}

}  // namespace
}  // namespace msrun::testing
