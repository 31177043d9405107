// --last-failed: what the last run found wrong, could not run or did not come to is checked again, and nothing that is
// not known to be right is left out in silence.
#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/support/json_schema.h"
#include "tests/support/spawned_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

class LastFailed : public Untouched {
 protected:
  Finished check(const Words& more, const std::string& api_info = dump("llama_fp32")) {
    Words words{"-api_info", api_info, "-o", out(), "-n", "1", "--retries", "0", "--no-report"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }

  // The calls that were checked by the only run whose CSVs are still in the folder, which are removed.
  Words checked() {
    const fs::path csv = only_file(out(), "accuracy_checking_result_");
    Words calls = names(read_csv(csv));
    fs::remove(csv);
    return calls;
  }

  std::size_t journals() const {
    std::size_t count = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(out())) {
      if (entry.path().extension() == ".journal") ++count;
    }
    return count;
  }

  // A run in which two calls fail, one of them because it does not run.
  void fail_two() {
    const Finished run = check(
        {"--only", "Torch.matmul.*", "--sim-fault", "Torch.matmul.0=acc-fp16", "--sim-fault", "Torch.matmul.1=crash"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(checked(), SizeIs(4));
  }
};

TEST_F(LastFailed, RunsWhatTheLastRunFoundWrongOrCouldNotRun) {
  fail_two();
  const Finished second = check({"--last-failed", "--sim-fault", "Torch.matmul.1=crash"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(checked(), ElementsAre("Torch.matmul.0", "Torch.matmul.1"));
  EXPECT_THAT(second.out, HasSubstr("2 calls of "));
  // Of these one is left; it is the newest run that counts.
  EXPECT_EQ(check({"--last-failed"}).exit_code, 0);
  EXPECT_THAT(checked(), ElementsAre("Torch.matmul.1"));
  const std::size_t before = journals();
  const Finished none = check({"--last-failed", "--fail-on", "suspicious"});
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_THAT(none.out, AllOf(HasSubstr("There is nothing to run."), HasSubstr("completed 0/0")));
  EXPECT_EQ(csv_in(out(), "accuracy_checking_result_"), "");
  EXPECT_EQ(journals(), before);
}

// The names of files have the local time, which is another one in a container, and an earlier one again when summer
// time ends.
TEST_F(LastFailed, TakesTheRunThatWasBegunLastWhateverItsClockShowed) {
  const auto check_at = [&](const char* zone, const Words& more) {
    Words words{"-api_info", dump("llama_fp32"), "-o", out(), "--only", "Torch.matmul.0", "--no-report"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path(), {zone});
  };
  EXPECT_EQ(check_at("TZ=EAST-8", {}).exit_code, 0);
  EXPECT_THAT(checked(), SizeIs(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // the journal has whole seconds
  EXPECT_EQ(check_at("TZ=WEST+8", {"--sim-fault", "Torch.matmul.0=acc-fp16"}).exit_code, 0);
  EXPECT_THAT(checked(), SizeIs(1));
  EXPECT_EQ(check_at("TZ=EAST-8", {"--last-failed"}).exit_code, 0);
  EXPECT_THAT(checked(), ElementsAre("Torch.matmul.0"));
}

TEST_F(LastFailed, NeedsARun) {
  expect_refused({"-api_info", dump("llama_fp32"), "-o", out(), "--last-failed"}, {"--last-failed", "journal"});
}

TEST_F(LastFailed, KeepsToThePatterns) {
  fail_two();
  EXPECT_EQ(check({"--last-failed", "--only", "*.0"}).exit_code, 0);
  EXPECT_THAT(checked(), ElementsAre("Torch.matmul.0"));
}

TEST_F(LastFailed, KeepsToThePatternsOfRanks) {
  for (const char* rank : {"rank0", "rank1"}) {
    fs::create_directories(scratch_ / "job" / rank);
    fs::copy(dump("llama_fp32"), scratch_ / "job" / rank);
  }
  const std::string job = scratch_ / "job";
  const Words faulty{"--across-ranks", "off", "--only", "Torch.matmul.*", "--sim-fault", "Torch.matmul.*=acc-fp16"};
  EXPECT_EQ(check(faulty, job).exit_code, 0);
  const Finished again = check({"--last-failed", "--across-ranks", "off", "--only", "rank1:Torch.*"}, job);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("4 calls of "), HasSubstr("of 8 that are left")));
}

// A slip in a pattern hides failures as little as in any other run, nor do patterns that leave none of them.
TEST_F(LastFailed, PatternsThatLeaveNoneOfTheFailuresAreNoSuccess) {
  fail_two();
  const Finished slip = check({"--last-failed", "--only", "Torch.mamtul.*"});
  EXPECT_EQ(slip.exit_code, 2);
  EXPECT_THAT(slip.err, HasSubstr("no call matches 'Torch.mamtul.*'"));
  for (const Words& patterns : {Words{"--only", "Torch.matmul.2"}, Words{"--except", "Torch.matmul.*"}}) {
    const Finished none = check({"--last-failed", patterns[0], patterns[1]});
    EXPECT_EQ(none.exit_code, 1);
    EXPECT_THAT(none.out, HasSubstr("--only and --except leave none of them: nothing is checked."));
  }
  EXPECT_EQ(csv_in(out(), "accuracy_checking_result_"), "");
}

TEST_F(LastFailed, RunsWhatTheLastRunDidNotComeTo) {
  EXPECT_EQ(check({"--sim-fault", "Torch.matmul.*=acc-fp16", "--only", "Torch.matmul.*,Tensor.pow.*"}).exit_code, 0);
  const Words all = checked();
  const Words failed{"Torch.matmul.0", "Torch.matmul.1", "Torch.matmul.2", "Torch.matmul.3"};
  // The first of them fails again and stops the run: the others are still not known to be right.
  EXPECT_EQ(check({"--last-failed", "--max-failures", "1", "--sim-fault", "Torch.matmul.*=acc-fp16"}).exit_code, 1);
  checked();
  const Finished rest = check({"--last-failed"});
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr(" of them because they have no result there."));
  EXPECT_THAT(checked(), ::testing::ElementsAreArray(failed));
  // So it is with a whole run that was stopped: only what it has found right is left out.
  EXPECT_EQ(
      check({"--max-failures", "1", "--only", "Torch.matmul.*,Tensor.pow.*", "--sim-fault", "*=scale=2"}).exit_code, 1);
  const Rows rows = read_csv(only_file(out(), "accuracy_checking_result_"));
  Words right;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i][1] == "pass" && rows[i][2] != "error") right.push_back(rows[i][0]);
  }
  checked();
  EXPECT_EQ(check({"--last-failed"}).exit_code, 0);
  EXPECT_EQ(checked().size(), all.size() - right.size());
}

TEST_F(LastFailed, RunsWhatAnInterruptedRunDidNotComeTo) {
  {
    OutputEnd null("/dev/null");
    SpawnedProcess run({"-api_info", dump("llama_fp32"), "-o", out(), "-n", "1", "--only", "Torch.matmul.*",
                        "--sim-fault", "Torch.matmul.*=slow=0.5", "--no-report"},
                       {null.descriptor(), -1}, scratch_.path());
    EXPECT_TRUE(eventually(60, [&] { return !csv_in(out(), "accuracy_checking_result_").empty(); }));
    run.signal(SIGINT);
    EXPECT_EQ(run.wait(60), 3) << run.err();
  }
  const std::size_t finished = checked().size();
  ASSERT_LT(finished, 4U);
  const Finished rest = check({"--last-failed", "--fail-on", "suspicious"});
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(checked().size(), 4 - finished);
}

TEST_F(LastFailed, IsOfNoPart) {
  const Words words{"-api_info", dump("llama_fp32"), "-o", out(), "--last-failed"};
  for (const Words& part : {Words{"--shard", "1/2"}, Words{"--steal"}}) {
    Words refused = words;
    refused.insert(refused.end(), part.begin(), part.end());
    expect_refused(refused, {"--last-failed does not go with " + part[0]});
  }
  fail_two();
  EXPECT_EQ(check({"--shard", "1/2"}).exit_code, 0);
  expect_refused(words, {"is of a part of a run", "msrun merge"});
}

TEST_F(LastFailed, IsNotOfTheOldLayout) {
  expect_refused({"-api_info", dump("llama_fp32"), "-o", out(), "--last-failed", "--layout", "att"},
                 {"--last-failed does not go with --layout att"});
}

TEST_F(LastFailed, IsOfTheSameRecording) {
  EXPECT_EQ(check({}).exit_code, 0);
  expect_refused({"-api_info", dump("vit_fp32"), "-o", out(), "--last-failed"}, {"is of another recording than "});
}

TEST_F(LastFailed, IsOfARunThatIsOver) {
  OutputEnd null("/dev/null");
  SpawnedProcess run({"-api_info", dump("llama_fp32"), "-o", out(), "-n", "1", "--only", "Torch.matmul.*",
                      "--sim-fault", "Torch.matmul.*=slow=20", "--no-report"},
                     {null.descriptor(), -1}, scratch_.path());
  EXPECT_TRUE(eventually(60, [&] { return !csv_in(out(), "accuracy_checking_result_").empty(); }));
  const Finished other = check({"--last-failed"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("--last-failed: the last run is not over, process " + std::to_string(run.pid())));
  run.signal(SIGKILL);
  EXPECT_TRUE(run.wait(60).has_value());
}

TEST_F(LastFailed, TellsOfDamageAndChecksWhatItHasLost) {
  EXPECT_EQ(check({}).exit_code, 0);
  checked();
  const fs::path journal = only_file(out(), "accuracy_checking_2");
  const std::string bytes = read_file(journal);
  write_file(journal, bytes.substr(0, bytes.size() * 3 / 4));
  const Finished again = check({"--last-failed"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("is damaged ("), HasSubstr("count as not checked")));
  EXPECT_THAT(checked(), Not(IsEmpty()));
}

TEST_F(LastFailed, WithNothingToCheckAllIsAskedAndToldAsInAnyRun) {
  EXPECT_EQ(check({"--only", "Torch.matmul.*"}).exit_code, 0);
  checked();
  const std::string junit = scratch_ / "junit.xml";
  write_file(junit, "<old/>");
  const Words words{"-o", out(), "--last-failed", "--no-report"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect_refused(with({"-api_info", scratch_ / "none.json"}), {"none.json"});
  expect_refused(with({"-api_info", dump("llama_fp32"), "--backend", "sim", "--require-device"}), {"--require-device"});
  expect_refused(with({"-api_info", dump("llama_fp32"), "--junit", "/nowhere/junit.xml"}), {"/nowhere"});
  EXPECT_EQ(read_file(junit), "<old/>");
  const Finished run =
      msrun(with({"-api_info", dump("llama_fp32"), "--junit", junit, "--message-format", "json"}), scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(read_file(junit), AllOf(HasSubstr("<testsuite "), HasSubstr("tests=\"0\""), Not(HasSubstr("<testcase"))));
  const JsonSchema schema(Json::parse(read_file(source_root() + "/docs/events.schema.json")));
  std::istringstream lines(run.out);
  Words types;
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line);
    EXPECT_EQ(schema.problem(event), "") << line;
    EXPECT_EQ(event["total"], 0);
    types.push_back(event["type"]);
  }
  EXPECT_THAT(types, ElementsAre("run_started", "run_finished"));
  const Finished dry = check({"--last-failed", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0);
  EXPECT_THAT(dry.out, HasSubstr("Would run 0 calls"));
}

}  // namespace
}  // namespace msrun::testing
