// Where a run begins and ends within its calls, and what else is told of them: --junit, annotations, the schema of the
// events, --max-failures, --dry-run, --durations.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "orchestrator/output/junit.h"
#include "orchestrator/view/github_view.h"
#include "orchestrator/view/slowest.h"
#include "tests/support/json_schema.h"
#include "tests/support/spawned_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream rest(text);
  for (std::string line; std::getline(rest, line);) lines.push_back(line);
  return lines;
}

// 0 if xmllint finds the file valid, else what it says.
std::string junit_problem(const fs::path& file, const TemporaryDirectory& scratch) {
  const std::string said = scratch / "xmllint.txt";
  const std::string command = "xmllint --noout --nonet --schema '" + source_root() + "/tests/e2e/junit.xsd' '" +
                              file.string() + "' > '" + said + "' 2>&1";
  return std::system(command.c_str()) == 0 ? "" : read_file(said);
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++count;
  return count;
}

class Ends : public Untouched {
 protected:
  Finished check(const std::vector<std::string>& more, const std::string& api_info = dump("llama_fp32")) {
    std::vector<std::string> arguments{"-api_info", api_info, "-o", out(), "-n", "2", "--retries", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return msrun(arguments, scratch_.path());
  }
  std::vector<std::string> checked() { return names(read_csv(only_file(out(), "accuracy_checking_result_"))); }
  std::string result() { return only_file(out(), "accuracy_checking_result_"); }
};

const std::vector<std::string> planted{"--only",      "Torch.matmul.*",      "--sim-fault", "Torch.matmul.0=acc-fp16",
                                       "--sim-fault", "Torch.matmul.1=crash"};

TEST_F(Ends, JunitHoldsAllCallsAndIsValid) {
  std::vector<std::string> more = planted;
  more.insert(more.end(), {"--junit", scratch_ / "junit.xml"});
  EXPECT_EQ(check(more).exit_code, 0);
  EXPECT_EQ(junit_problem(scratch_ / "junit.xml", scratch_), "");
  const std::string xml = read_file(scratch_ / "junit.xml");
  const auto calls = checked().size();
  EXPECT_EQ(count_of(xml, "<testcase "), calls);
  EXPECT_EQ(count_of(xml, "<failure message=\"Suspicious: "), 1U);
  EXPECT_EQ(count_of(xml, "<failure message=\"The runner of device 0 died"), 1U);
  EXPECT_EQ(count_of(xml, "type=\"failed to run\""), 1U);
  EXPECT_THAT(xml, HasSubstr("tests=\"" + std::to_string(calls) + "\" failures=\"2\" errors=\"0\" skipped=\"0\""));
}

TEST_F(Ends, JunitByDocumentedStatusHasErrorsForWhatFailedToRun) {
  std::vector<std::string> more = planted;
  more.insert(more.end(), {"--junit", scratch_ / "junit.xml", "--junit-status", "documented"});
  EXPECT_EQ(check(more).exit_code, 0);
  EXPECT_EQ(junit_problem(scratch_ / "junit.xml", scratch_), "");
  const std::string xml = read_file(scratch_ / "junit.xml");
  EXPECT_EQ(count_of(xml, "<error message=\"The runner of device 0 died"), 1U);
  EXPECT_THAT(xml, HasSubstr("failures=\"1\" errors=\"1\" skipped=\"0\""));
  const Finished refused = check({"--junit-status", "documented"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--junit-status says what fails in the file of --junit"));
}

// A part that is done is complete; what others check is no part of it.
TEST_F(Ends, JunitOfAPartIsOfItsCalls) {
  const Words junit{"--junit", scratch_ / "junit.xml"};
  const auto expect_complete = [&](const Words& part) {
    Words more = part;
    more.insert(more.end(), junit.begin(), junit.end());
    EXPECT_EQ(check(more).exit_code, 0);
    EXPECT_EQ(junit_problem(scratch_ / "junit.xml", scratch_), "");
    const std::string xml = read_file(scratch_ / "junit.xml");
    EXPECT_THAT(xml, AllOf(HasSubstr("errors=\"0\""), Not(HasSubstr("not complete"))));
    return count_of(xml, "<testcase ");
  };
  const std::size_t first = expect_complete({"--shard", "1/3"});
  EXPECT_GT(first, 0U);
  EXPECT_LT(first, 134U);
  // Of two processes that share leases the second may come too late for any.
  fs::remove_all(out());
  EXPECT_EQ(expect_complete({"--steal"}), 134U);
  EXPECT_EQ(expect_complete({"--steal"}), 0U);
  fs::remove_all(out());
  Words stopped{"--shard", "1/3", "--max-failures", "1", "--sim-fault", "*=scale=2"};
  stopped.insert(stopped.end(), junit.begin(), junit.end());
  EXPECT_EQ(check(stopped).exit_code, 1);
  EXPECT_THAT(read_file(scratch_ / "junit.xml"), HasSubstr(" of " + std::to_string(first) + " calls have no result."));
}

TEST_F(Ends, JunitIsNoTextForAPipe) {
  const Finished refused = check({"--junit", "-"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--junit writes a file"));
  EXPECT_FALSE(fs::exists(scratch_ / "-"));
}

// Whichever of two files of one name came last would be all that is left of both.
TEST_F(Ends, JunitReplacesNoFileOfTheRunItself) {
  EXPECT_EQ(check({"-d", "0", "1"}, dump("llama_fp32")).exit_code, 0);
  const fs::path rows = only_file(out(), "accuracy_checking_result_");
  const fs::path report = only_file(out(), "accuracy_checking_report_");
  const std::string before = read_file(report);
  const fs::path of_device = out() / "device1" / rows.filename();
  ASSERT_TRUE(fs::exists(of_device));
  fs::remove(of_device);
  for (const fs::path& taken : {report, of_device}) {
    const Finished refused = msrun({"-csv_path", rows, "--junit", taken}, scratch_.path());
    EXPECT_EQ(refused.exit_code, 2) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("--junit " + taken.string() + " would overwrite the "));
  }
  EXPECT_EQ(read_file(report), before);
}

TEST_F(Ends, JunitReplacesNoInput) {
  const std::string recording = scratch_ / "dump.json";
  fs::copy_file(dump("llama_fp32"), recording);
  const std::string before = read_file(recording);
  const std::string config = scratch_ / "config.json";
  write_file(config, "{}");
  fs::create_symlink(recording, scratch_ / "link.json");
  const std::string other = scratch_ / "accuracy_checking_result_20261122120000.csv";
  write_file(other, "kept");
  for (const auto& [junit, kept] : {std::pair(recording, recording),
                                    {other, other},
                                    {(scratch_ / "link.json").string(), recording},
                                    {(scratch_ / "none/../config.json").string(), config}}) {
    const Finished refused = check({"-config", config, "--junit", junit}, recording);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("--junit " + junit + " would overwrite "));
    EXPECT_THAT(refused.err, HasSubstr(kept));
  }
  EXPECT_EQ(read_file(recording), before);
  EXPECT_EQ(read_file(config), "{}");
}

TEST_F(Ends, JunitSaysWhatRoundingExplainsAndWhatARuleLeavesOut) {
  EXPECT_EQ(check({"--junit", scratch_ / "junit.xml"}, dump("llama_bf16")).exit_code, 0);
  EXPECT_EQ(junit_problem(scratch_ / "junit.xml", scratch_), "");
  const std::string xml = read_file(scratch_ / "junit.xml");
  std::size_t warnings = 0;
  std::size_t skips = 0;
  for (const std::vector<std::string>& row : read_csv(result())) {
    const bool warning = row[1] == "warning" || row[2] == "warning";
    if (warning && row[1] != "error" && row[2] != "error") ++warnings;
    if (row[1] == "SKIP") ++skips;
  }
  EXPECT_GT(warnings, 0U);
  EXPECT_GE(count_of(xml, "<system-out>Status by the documented limits: warning.&#10;Rounding: "), warnings);
  EXPECT_EQ(count_of(xml, "<skipped "), skips);
}

// Gradients in bfloat16 that start from a stored output are errors by the documented limits.
TEST_F(Ends, JunitIsRedWhereSuspiciousIs) {
  const auto written = [&](const Words& more) {
    fs::remove_all(out());
    Words all{"--junit", scratch_ / "junit.xml", "--fail-on", "suspicious", "--only", "Torch.sigmoid.1,Torch.tanh.1"};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(check(all, dump("zoo_stat")).exit_code, 0);
    EXPECT_EQ(junit_problem(scratch_ / "junit.xml", scratch_), "");
    return read_file(scratch_ / "junit.xml");
  };
  const std::string xml = written({});
  EXPECT_THAT(xml, HasSubstr("failures=\"0\" errors=\"0\""));
  EXPECT_EQ(count_of(xml, "<system-out>Status by the documented limits: error.&#10;Rounding: "), 2U);
  EXPECT_EQ(count_of(written({"--junit-status", "documented"}), "<failure message=\"Rounding: "), 2U);
}

TEST_F(Ends, JunitIsXmlWhateverTextsHold) {
  EXPECT_EQ(xml_text("a<b>&\"c\x01\x1b\xff\n\xEF\xBF\xBF."), "a&lt;b&gt;&amp;&quot;c__\xEF\xBF\xBD&#10;\xEF\xBF\xBD.");
  ApiResult result =
      skip_result(0, "Torch.<&\">]]>\x02\xC3.0", "because\x0b of \"<this>\"\nand ]]> that", Outcome::failed_to_run);
  ApiResult passed;
  passed.name = "Torch.\xE4\xB8\xAD\xE6\x96\x87 --> <!-- .1";
  passed.message = "";
  for (const std::uint64_t planned : {2, 9}) {
    AtomicFile file(scratch_ / "junit.xml");
    write_junit(file, {"dump \"<&>\x7f\xff.json", 0, planned}, [&](const auto& visit) {
      visit(result);
      visit(passed);
    });
    file.commit();
    EXPECT_EQ(junit_problem(scratch_ / "junit.xml", scratch_), "");
    EXPECT_EQ(count_of(read_file(scratch_ / "junit.xml"), "The run is not complete: 7 of 9 calls"),
              planned == 9 ? 2U : 0U);
  }
}

TEST_F(Ends, JunitThatCannotBeWrittenIsRefusedBeforeAnythingRuns) {
  expect_refused({"-api_info", dump("llama_fp32"), "-o", out(), "--junit", "/nowhere/junit.xml"}, {"/nowhere"});
  expect_refused({"run_overflow_check", "-api_info", dump("llama_fp32"), "--junit", scratch_ / "x.xml"}, {"--junit"});
}

// A file that may not grow is to a program what a full disk is: the details do not fit, the JUnit file does.
TEST_F(Ends, JunitAndTheTableAreThereWhereResultsCannotBeWritten) {
  Finished run;
  {
    const InheritedLimit disk(RLIMIT_FSIZE, 40000);
    run = check({"--junit", scratch_ / "junit.xml", "--summary", "--no-report"}, dump("llama_bf16"));
  }
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("File too large"), HasSubstr("results that rounding does not explain"),
                             Not(HasSubstr("Successfully"))));
  EXPECT_EQ(junit_problem(scratch_ / "junit.xml", scratch_), "");
  const std::string xml = read_file(scratch_ / "junit.xml");
  EXPECT_GT(count_of(xml, "<testcase "), 1U);
  EXPECT_THAT(xml, AllOf(HasSubstr("The run is not complete: "), HasSubstr("File too large")));
}

// Standard output has events, and nothing else.
TEST_F(Ends, WhatIsAskedForBesideEventsIsOnStandardError) {
  const Finished run = check({"--message-format", "json", "--summary", "--durations", "2"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const std::string& line : lines_of(run.out)) EXPECT_THAT(line, StartsWith("{\"type\":"));
  EXPECT_THAT(run.err, AllOf(HasSubstr("results that rounding does not explain"), HasSubstr("Slowest calls ")));
  fs::remove_all(out());
  EXPECT_THAT(check({"--message-format", "json"}).err, Not(HasSubstr("results that rounding does not explain")));
}

TEST_F(Ends, AnnotationsNameWhatIsWrong) {
  std::vector<std::string> more = planted;
  more.insert(more.end(), {"--message-format", "github"});
  const Finished run = check(more);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::vector<std::string> commands;
  for (const std::string& line : lines_of(run.out)) {
    if (line.starts_with("::")) commands.push_back(line);
  }
  std::ranges::sort(commands);
  EXPECT_THAT(commands,
              ElementsAre(StartsWith("::error title=Torch.matmul.0::suspicious: forward.output.0: Not explained by"),
                          StartsWith("::error title=Torch.matmul.1::failed to run: The runner of device 0 died"),
                          StartsWith("::notice title=msrun::pass ")));
  EXPECT_EQ(github_command("error", "a:b,c%\n", "100%: x,y\r\n::stop"),
            "::error title=a%3Ab%2Cc%25%0A::100%25: x,y_%0A::stop");
}

TEST_F(Ends, EveryEventFitsItsSchema) {
  const JsonSchema schema(nlohmann::json::parse(read_file(source_root() + "/docs/events.schema.json")));
  std::map<std::string, int> types;
  const auto expect_valid = [&](const Finished& run) {
    for (const std::string& line : lines_of(run.out)) {
      const auto event = nlohmann::json::parse(line);
      ++types[event["type"].get<std::string>()];
      EXPECT_EQ(schema.problem(event), "") << line;
    }
  };
  const std::vector<std::string> json{"--message-format", "json"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), json.begin(), json.end());
    return words;
  };
  expect_valid(check(with({"--sim-fault", "Torch.matmul.0=acc-fp16", "--sim-fault", "Torch.matmul.1=crash"})));
  expect_valid(check(with({}), dump("llama_bf16")));
  expect_valid(check(with({}), dump("zoo_stat")));
  expect_valid(check(with({"--repeat", "3", "--sim-fault", "Torch.matmul.*=wrong-once=0.5", "--only", "Torch.*"})));
  expect_valid(check(with({"-d", "0", "1", "2", "--same-on-all", "--sim-fault", "Torch.matmul.*=wrong-on-device=1",
                           "--only", "Torch.matmul.*"})));
  expect_valid(check(with({"--max-failures", "1", "--sim-fault", "*=acc-fp16"})));
  expect_valid(check(with({"--dry-run"}), dump("llama_bf16")));
  for (const char* rank : {"rank0", "rank1"}) {
    fs::create_directories(scratch_ / "job" / rank);
    fs::copy(dump("llama_bf16"), scratch_ / "job" / rank);
  }
  expect_valid(check(with({}), scratch_ / "job"));
  for (const char* name : {"llama_fp32", "zoo_stat"}) {
    expect_valid(msrun({"run_overflow_check", "-api_info", dump(name), "--message-format", "json", "--sim-fault",
                        "Torch.matmul.0=nan-tail"},
                       scratch_.path()));
  }
  const auto lost = nlohmann::json::parse(R"({"type":"output_lost","lines":7})");
  EXPECT_EQ(schema.problem(lost), "");
  for (const char* type : {"run_started", "api_result", "runner_died", "progress", "run_finished", "dry_run"}) {
    EXPECT_GT(types[type], 0) << type;
  }
  EXPECT_NE(schema.problem(nlohmann::json::parse(R"({"type":"output_lost","lines":"7"})")), "");
  EXPECT_NE(schema.problem(nlohmann::json::parse(R"({"type":"output_lost","lines":7,"more":1})")), "");
}

TEST_F(Ends, MaxFailuresStopsARunThatCanBeContinued) {
  const std::vector<std::string> faults{"--sim-fault", "Torch.matmul.*=acc-fp16", "--sim-fault",
                                        "Tensor.pow.*=scale=2"};
  std::vector<std::string> more = faults;
  EXPECT_EQ(check(more).exit_code, 0);
  const std::string whole = read_file(result());
  fs::remove_all(out());
  more.insert(more.end(), {"--max-failures", "1", "-n", "1"});
  std::vector<std::string> arguments{"-api_info", dump("llama_fp32"), "-o", out(), "--retries", "0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Finished run = msrun(arguments, scratch_.path());
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("(--max-failures 1)"), HasSubstr("Continue it with: "), HasSubstr("stopped at ")));
  EXPECT_THAT(run.out, Not(HasSubstr("Successfully")));
  // What was found before does not stop it again.
  int continued = 0;
  while (run.exit_code == 1 && ++continued < 50) {
    run = msrun({"-csv_path", result(), "--max-failures", "3"}, scratch_.path());
  }
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_GT(continued, 1);
  EXPECT_EQ(read_file(result()), whole);
}

// Whether the run had finished by the time that the last of so many failures was known is a matter of chance.
TEST_F(Ends, MaxFailuresIsMetByARunThatHasFinishedToo) {
  const Finished run = check({"--only", "Torch.matmul.0", "--sim-fault", "*=scale=2", "--max-failures", "1"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out + run.err, HasSubstr("1 call is suspicious or failed to run (--max-failures 1)."));
  EXPECT_THAT(run.out, Not(HasSubstr("Continue it with: ")));
  // What an earlier run has found is no failure of this one.
  EXPECT_EQ(msrun({"-csv_path", result(), "--max-failures", "1"}, scratch_.path()).exit_code, 0);
}

TEST_F(Ends, DryRunOfAPartIsOfThatPart) {
  std::uint64_t calls = 0;
  for (const char* part : {"1/3", "2/3", "3/3"}) {
    const Finished run = check({"--dry-run", "--shard", part, "--message-format", "json"}, dump("llama_bf16"));
    const Json event = Json::parse(run.out);
    calls += event["calls"].get<std::uint64_t>();
    EXPECT_LT(event["calls"], 40) << part;
  }
  const Finished whole = check({"--dry-run", "--message-format", "json"}, dump("llama_bf16"));
  EXPECT_EQ(Json::parse(whole.out)["calls"], calls);
}

// It is nowhere else.
TEST_F(Ends, ADryRunThatCannotBePrintedIsNoSuccess) {
  for (const char* format : {"human", "json"}) {
    OutputEnd full("/dev/full");
    SpawnedProcess run({"-api_info", dump("llama_bf16"), "--dry-run", "--message-format", format},
                       {full.descriptor(), -1}, scratch_.path());
    EXPECT_EQ(run.wait(60), 2) << run.err();
    EXPECT_THAT(run.err(), HasSubstr("could not be written (No space left on device)"));
  }
}

// What the run itself would refuse at its start.
TEST_F(Ends, DryRunSaysWhatItDoesNotHeed) {
  const Finished run = check({"--dry-run", "--junit", scratch_ / "junit.xml", "--fail-on", "error"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("--junit does nothing with --dry-run"),
                             HasSubstr("--fail-on does nothing with --dry-run")));
  EXPECT_FALSE(fs::exists(scratch_ / "junit.xml"));
}

TEST_F(Ends, DryRunRefusesOutputThatCannotBeUsed) {
  const std::string file = scratch_.write("file", "");
  const auto dry = [&](const std::string& to) {
    return msrun({"-api_info", dump("llama_fp32"), "-o", to, "--dry-run"}, scratch_.path());
  };
  for (const std::string& to : {file, file + "/below"}) {
    const Finished run = dry(to);
    EXPECT_EQ(run.exit_code, 2) << to << run.out;
    const Finished real = msrun({"-api_info", dump("llama_fp32"), "-o", to}, scratch_.path());
    EXPECT_EQ(real.err, run.err);
  }
  EXPECT_EQ(dry(scratch_ / "not" / "there").exit_code, 0);
  EXPECT_FALSE(fs::exists(scratch_ / "not"));
}

TEST_F(Ends, DryRunSaysThatTheTensorsAreNotThere) {
  fs::create_directories(scratch_ / "alone");
  fs::copy_file(fs::path(test_data()) / "opinfo_sample" / "nn_activation" / "dump.json",
                scratch_ / "alone" / "dump.json");
  const Finished run = check({"--dry-run", "--backend", "recorded"}, scratch_ / "alone" / "dump.json");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("Would run 0 calls"), HasSubstr("Cannot be checked: "),
                             HasSubstr("There is no directory " + (scratch_ / "alone" / "dump_tensor_data").string())));
}

TEST_F(Ends, DryRunSaysWhatWouldRunAndWritesNothing) {
  const std::map<std::string, std::string> before = snapshot(scratch_.path());
  const Finished run = check({"--dry-run"}, dump("llama_bf16"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_EQ(snapshot(scratch_.path()), before);
  EXPECT_THAT(run.out, AllOf(HasSubstr("Would run "), HasSubstr("Torch.matmul"), HasSubstr("torch.bfloat16"),
                             HasSubstr("Forecast: "), HasSubstr("Nothing was run or written.")));
  const Json event = Json::parse(check({"--dry-run", "--message-format", "json"}, dump("llama_bf16")).out);
  EXPECT_EQ(check({}, dump("llama_bf16")).exit_code, 0);
  std::map<std::string, std::uint64_t> would;
  std::uint64_t skipped = 0;
  for (const Json& group : event["groups"]) would[group["api"]] += group["calls"].get<std::uint64_t>();
  for (const Json& reason : event["skipped"]) skipped += reason["calls"].get<std::uint64_t>();
  std::map<std::string, std::uint64_t> did;
  std::uint64_t skips = 0;
  const Rows rows = read_csv(result());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const bool skip = rows[i][1] == "SKIP" && rows[i][2] == "SKIP";
    skip ? ++skips : ++did[rows[i][0].substr(0, rows[i][0].rfind('.'))];
  }
  EXPECT_EQ(would, did);
  EXPECT_EQ(skipped, skips);
}

// What the plan alone tells to be SKIP would not run.
TEST_F(Ends, DryRunNamesWhatCannotBeChecked) {
  const auto tensor = [](const char* dtype, const char* extrema) {
    return std::string(R"({"type": "torch.Tensor", "dtype": )") + dtype + R"(, "shape": [2, 3], "Max": )" + extrema +
           R"(, "Min": )" + extrema + R"(, "Mean": 0, "Norm": 1, "requires_grad": false})";
  };
  const auto call = [](const char* name, const std::string& input) {
    return std::string("\"") + name + R"(.forward": {"input_args": [)" + input +
           R"(], "input_kwargs": {}, "output": []})";
  };
  const std::string path = write_dump(dump_text(call("Torch.exp.0", tensor("null", "1")) + ", " +
                                                call("Torch.cos.0", tensor(R"("torch.float32")", "null")) + ", " +
                                                call("Torch.sin.0", tensor(R"("torch.float32")", "1"))));
  const Json event = Json::parse(check({"--dry-run", "--message-format", "json"}, path).out);
  EXPECT_EQ(check({}, path).exit_code, 0);
  const Rows rows = read_csv(result());
  std::set<std::string> skips;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i][1] == "SKIP") skips.insert(rows[i][0]);
  }
  EXPECT_EQ(skips, (std::set<std::string>{"Torch.cos.0", "Torch.exp.0"}));
  EXPECT_EQ(event["calls"], 1);
  std::set<std::string> would_skip;
  for (const Json& reason : event["skipped"]) {
    EXPECT_FALSE(reason["by_rule"].get<bool>());
    EXPECT_NE(reason["reason"], "");
    would_skip.insert(reason["first"]);
  }
  EXPECT_EQ(would_skip, skips);
}

TEST_F(Ends, DurationsNameTheSlowestCalls) {
  const Finished run = check({"--only", "Torch.matmul.*,Functional.*", "--durations", "3"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::size_t at = run.out.find("Slowest calls ");
  ASSERT_NE(at, std::string::npos) << run.out;
  EXPECT_EQ(count_of(run.out.substr(at), " s\n"), 3U);
  const fs::path journal = only_file(out(), "accuracy_checking_2");
  const Json facts = Json::parse(msrun({"journal", journal, "--json", "--durations", "2"}, scratch_.path()).out);
  ASSERT_EQ(facts["slowest"].size(), 2U);
  EXPECT_GE(facts["slowest"][0]["seconds"], facts["slowest"][1]["seconds"]);
  EXPECT_THAT(msrun({"journal", journal, "--durations", "1"}, scratch_.path()).out,
              HasSubstr(facts["slowest"][0]["name"].get<std::string>()));
  EXPECT_THAT(msrun({"journal", journal}, scratch_.path()).out, Not(HasSubstr("Slowest")));
}

TEST(Slowest, KeepsTheSlowestInOrder) {
  Slowest slowest(3);
  for (const std::uint64_t time : {5, 1, 9, 7, 9, 2}) {
    ApiResult result;
    result.task = static_cast<std::uint32_t>(slowest.calls().size() * 10 + time);
    result.name = "Torch.x." + std::to_string(time);
    result.times.device = time;
    slowest.see(result);
  }
  std::vector<std::uint64_t> times;
  for (const SlowCall& call : slowest.calls()) times.push_back(call.total());
  EXPECT_THAT(times, ElementsAre(9, 9, 7));
  EXPECT_EQ(Slowest(0).text(), "");
}

}  // namespace
}  // namespace msrun::testing
