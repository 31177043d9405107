// msrun diff: every transition of planted ones between two runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "journal/file.h"
#include "journal/reader.h"
#include "kernels/io/files/csv.h"
#include "tests/support/msrun_process.h"
#include "tests/support/sanitized.h"
#include "tests/tools/browser.h"
#include "tests/tools/diff/run_journal_file.h"
#include "tests/tools/diff/transitions.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;
class RunDiff : public ::testing::Test {
 protected:
  Finished diff(std::vector<std::string> words) const {
    words.insert(words.begin(), {scratch_ / "a", scratch_ / "b"});
    return run_tool("run_diff", words, scratch_.path());
  }
  Json json(std::vector<std::string> words = {}) const {
    words.insert(words.end(), {"--json", "--all"});
    return Json::parse(diff(words).out);
  }
  static std::string change_of(const Json& json, const std::string& name) {
    for (const Json& call : json["calls"]) {
      if (call["name"] == name) return call["change"];
    }
    return "not named";
  }
  void write(const std::string& run, std::vector<ApiResult> results,
             const nlohmann::json& fingerprint = usual_fingerprint()) const {
    write_run(scratch_ / run, std::move(results), fingerprint);
  }

  TemporaryDirectory scratch_;
};

TEST_F(RunDiff, EveryPlantedTransitionIsNamed) {
  std::vector<ApiResult> before;
  std::vector<ApiResult> after;
  for (const Transition& transition : transitions) {
    before.push_back(passed(name_of(transition)));
    transition.before(before.back());
    after.push_back(passed(name_of(transition)));
    transition.after(after.back());
  }
  // Rows that one of them does not have.
  before.push_back(passed("Torch.removed.0"));
  before.push_back(passed("Torch.removed_suspicious.0"));
  suspicious_error(before.back());
  after.push_back(passed("Torch.added.0"));
  after.push_back(passed("Torch.added_suspicious.0"));
  suspicious_error(after.back());
  write("a", before);
  write("b", after);
  const Json found = json();
  for (const Transition& transition : transitions) {
    EXPECT_EQ(change_of(found, name_of(transition)), transition.change) << transition.title;
  }
  EXPECT_EQ(change_of(found, "Torch.removed.0"), "removed");
  EXPECT_EQ(change_of(found, "Torch.removed_suspicious.0"), "removed");
  EXPECT_EQ(change_of(found, "Torch.added.0"), "added");
  EXPECT_EQ(change_of(found, "Torch.added_suspicious.0"), "new");
  std::size_t calls = 0;
  for (const auto& [change, count] : found["counts"].items()) calls += count.get<std::size_t>();
  EXPECT_EQ(calls, transitions.size() + 4);
  EXPECT_EQ(diff({}).exit_code, 1);
}

TEST_F(RunDiff, OneTransitionAloneDecidesTheExitCode) {
  for (const Transition& transition : transitions) {
    fs::remove_all(scratch_ / "a");
    fs::remove_all(scratch_ / "b");
    ApiResult before = passed("Torch.add.0");
    ApiResult after = passed("Torch.add.0");
    transition.before(before);
    transition.after(after);
    write("a", {before});
    write("b", {after});
    // Where one of them has not checked the call, or not the same, that nothing is new proves nothing.
    const std::string_view title = transition.title;
    const bool proves = transition.change != std::string("not comparable") &&
                        title.find("SKIP by rule") == title.npos && title.find("not checkable") == title.npos;
    const bool is_new = transition.change == std::string("new");
    EXPECT_EQ(diff({}).exit_code, is_new || !proves ? 1 : 0) << title;
  }
}

TEST_F(RunDiff, OutputsAreToldApart) {
  write("a", {passed("Torch.add.0")});
  ApiResult after = passed("Torch.add.0");
  backward(Status::error, false, true)(after);
  other_metric(after);
  write("b", {after});
  const Json call = json()["calls"][0];
  ASSERT_EQ(call["outputs"].size(), 2U);
  EXPECT_EQ(call["outputs"][0]["output"], "forward.output.0");
  EXPECT_EQ(call["outputs"][0]["change"], "changed metrics");
  EXPECT_EQ(call["outputs"][0]["metrics"][0]["metric"], "Max Absolute Error");
  EXPECT_EQ(call["outputs"][0]["other_bits"], true);
  EXPECT_EQ(call["outputs"][1]["output"], "backward.output.0");
  EXPECT_EQ(call["outputs"][1]["change"], "new");
  EXPECT_EQ(call["outputs"][1]["other_bits"], false);
}

TEST_F(RunDiff, OptionsThatJudgeOtherwiseAreNamedAndNothingIsCompared) {
  ApiResult wrong = passed("Torch.add.0");
  suspicious_error(wrong);
  for (const char* option : {"standard", "limits", "compat", "layout", "max_abs_err"}) {
    fs::remove_all(scratch_ / "a");
    fs::remove_all(scratch_ / "b");
    nlohmann::json fingerprint = usual_fingerprint();
    fingerprint[option] = "documented";
    write("a", {passed("Torch.add.0")});
    write("b", {wrong}, fingerprint);
    EXPECT_EQ(change_of(json(), "Torch.add.0"), "not comparable") << option;
    const Finished text = diff({});
    EXPECT_EQ(text.exit_code, 1) << option;
    EXPECT_THAT(text.out, AllOf(HasSubstr("Other: " + std::string(option) + " ("), HasSubstr("Not comparable"),
                                HasSubstr("Nothing was compared")));
  }
}

TEST_F(RunDiff, AnotherSeedAloneMakesOnlyThoseIncomparableWhoseInputsDiffer) {
  nlohmann::json fingerprint = usual_fingerprint();
  fingerprint["seed"] = 7;
  ApiResult other = passed("Torch.add.0");
  other_inputs(other);
  ApiResult equal = passed("Torch.mul.0");
  suspicious_error(equal);
  write("a", {passed("Torch.add.0"), passed("Torch.mul.0")});
  write("b", {other, equal}, fingerprint);
  const Json found = json();
  EXPECT_EQ(change_of(found, "Torch.add.0"), "not comparable");
  EXPECT_EQ(change_of(found, "Torch.mul.0"), "new");
  EXPECT_EQ(found["other_options"][0], "seed (1234 in A, 7 in B)");
}

TEST_F(RunDiff, RunsOfSimAreCompared) {
  const auto check = [&](const char* run, std::vector<std::string> more) {
    more.insert(more.end(), {"-api_info", dump("llama_fp32"), "-o", scratch_ / run, "-n", "2", "--only",
                             "Torch.matmul.*,Functional.silu.*"});
    ASSERT_EQ(msrun(more, scratch_.path()).exit_code, 0);
  };
  check("a", {"--except", "Torch.matmul.3"});
  check("b", {"--retries", "0", "--sim-fault", "Torch.matmul.0=acc-fp16", "--sim-fault", "Torch.matmul.1=crash"});
  Json found = json();
  EXPECT_EQ(change_of(found, "Torch.matmul.0"), "new");
  EXPECT_EQ(change_of(found, "Torch.matmul.1"), "new");
  EXPECT_EQ(change_of(found, "Torch.matmul.2"), "same");
  EXPECT_EQ(change_of(found, "Torch.matmul.3"), "added");
  const Finished text = msrun({"diff", scratch_ / "a", scratch_ / "b"}, scratch_.path());
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("2 new, 1 added, "), HasSubstr("Torch.matmul.1  pass -> failed to run"),
                              HasSubstr("Torch.matmul.0  pass -> suspicious (error, backward pass)"),
                              HasSubstr("float16 accumulation")));
  EXPECT_EQ(msrun({"diff", scratch_ / "b", scratch_ / "a"}, scratch_.path()).exit_code, 0);
  // Without the journals the statuses are left.
  for (const char* run : {"a", "b"}) fs::remove(only_file(scratch_ / run, "accuracy_checking_2"));
  found = json();
  EXPECT_EQ(found["by_status"], true);
  EXPECT_EQ(change_of(found, "Torch.matmul.0"), "new");
  EXPECT_EQ(change_of(found, "Torch.matmul.1"), "new");
  EXPECT_EQ(change_of(found, "Torch.matmul.2"), "same");
  EXPECT_EQ(change_of(found, "Torch.matmul.3"), "added");
}

TEST_F(RunDiff, FilesOfThePythonToolAreCompared) {
  const std::string titles = "API Name,Forward Test Success,Backward Test Success,Message\r\n";
  fs::create_directories(scratch_ / "a");
  fs::create_directories(scratch_ / "b");
  const char* name = "accuracy_checking_result_20250101000000.csv";
  scratch_.write(std::string("a/") + name, titles +
                                               "Torch.add.0,pass,pass\r\nTorch.mul.0,warning,pass\r\n"
                                               "Torch.sub.0,error, \r\nTorch.exp.0,SKIP,SKIP,why\r\n");
  scratch_.write(std::string("b/") + name, titles +
                                               "Torch.add.0,warning,pass\r\nTorch.mul.0,error,pass\r\n"
                                               "Torch.sub.0,pass, \r\nTorch.exp.0,pass,pass\r\n");
  const Json found = json();
  EXPECT_EQ(change_of(found, "Torch.add.0"), "new");
  EXPECT_EQ(change_of(found, "Torch.mul.0"), "new");
  EXPECT_EQ(change_of(found, "Torch.sub.0"), "fixed");
  EXPECT_EQ(change_of(found, "Torch.exp.0"), "changed status");
}

// Where there are no files without a name, a file has a temporary one, which is none of the user's.
TEST_F(RunDiff, OnOldFileSystemsNoFileOfTheUserIsReplaced) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  write("a", {passed("Torch.add.0")});
  write("b", {passed("Torch.add.0")});
  write_file(scratch_ / "d.csv.tmp", "of the user");
  write_file(scratch_ / ".d.csv.msrun.tmp", "left by one that was killed");
  const Finished run = Process({scratch_ / "a", scratch_ / "b", "--csv", scratch_ / "d.csv"}, scratch_.path(),
                               {std::string("LD_PRELOAD=") + HOSTILE_FILES,
                                "MSRUN_HOSTILE_DIR=" + scratch_.path().string(), "MSRUN_HOSTILE_OLD=1"},
                               "run_diff")
                           .wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(read_file(scratch_ / "d.csv.tmp"), "of the user");
  EXPECT_TRUE(fs::exists(scratch_ / "d.csv"));
  for (const std::string& name : scratch_.names()) EXPECT_FALSE(name.starts_with(".d.csv")) << name;
}

// A writer that was killed has left a part of the last row, which may end anywhere.
TEST_F(RunDiff, ALastRowThatIsTornIsLeftOut) {
  const std::string titles = "API Name,Forward Test Success,Backward Test Success,Message\r\n";
  fs::create_directories(scratch_ / "a");
  fs::create_directories(scratch_ / "b");
  const char* name = "accuracy_checking_result_20250101000000.csv";
  const std::string whole = titles + "Torch.add.0,pass,pass,\r\n";
  scratch_.write(std::string("a/") + name, whole + "Torch.mul.0,pass,warning,\r\n");
  const std::string last = "Torch.mul.0,pass,warning";
  for (std::size_t length = 1; length < last.size(); ++length) {
    scratch_.write(std::string("b/") + name, whole + last.substr(0, length));
    const Finished run = run_tool("run_diff", {scratch_ / "a", scratch_ / "b"}, scratch_.path());
    EXPECT_EQ(run.exit_code, 0) << length << run.err;
    EXPECT_THAT(run.out + run.err, HasSubstr("its last row is torn, and is left out.")) << length;
  }
  // The same in front of other rows is no torn row.
  scratch_.write(std::string("b/") + name, titles + "Torch.mul.0,pass,warn,\r\nTorch.add.0,pass,pass,\r\n");
  EXPECT_EQ(run_tool("run_diff", {scratch_ / "a", scratch_ / "b"}, scratch_.path()).exit_code, 2);
}

TEST_F(RunDiff, WrongInputIsRefusedInOneLine) {
  write("a", {passed("Torch.add.0")});
  fs::create_directories(scratch_ / "empty");
  write_file(scratch_ / "strange.csv", "a,b\r\n");
  write_file(scratch_ / "broken.journal", "no journal");
  for (const char* other : {"empty", "nothing", "strange.csv", "broken.journal"}) {
    const Finished run = run_tool("run_diff", {scratch_ / "a", scratch_ / other}, scratch_.path());
    EXPECT_EQ(run.exit_code, 2) << other;
    EXPECT_THAT(run.err, HasSubstr(other));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(run_tool("run_diff", {scratch_ / "a"}, scratch_.path()).exit_code, 2);
}

TEST_F(RunDiff, NoOutputReplacesAFileOfARunOrAnother) {
  const std::string journal = write_run(scratch_ / "b", {passed("Torch.add.0")});
  write("a", {passed("Torch.add.0")});
  const std::string result = scratch_ / "b" / "accuracy_checking_result_20261122120000.csv";
  write_file(result, "API Name,Forward Test Success,Backward Test Success,Message\r\n");
  const std::string before = read_file(journal);
  fs::create_symlink(journal, scratch_ / "link");
  const auto refuse = [&](const std::string& tool, const std::vector<std::string>& words, const std::string& text) {
    const Finished run = run_tool(tool, words, scratch_.path());
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_EQ(run.err, tool + ": " + text + "\n");
    EXPECT_EQ(run.out, "");
  };
  const std::string a = scratch_ / "a";
  const std::string b = scratch_ / "b";
  for (const std::string& onto : {journal, (scratch_ / "link").string(),
                                  (scratch_ / "b/x/../accuracy_checking_20261122120000.journal").string()}) {
    for (const char* option : {"--csv", "--html"}) {
      refuse("run_diff", {a, b, option, onto},
             std::string(option) + " " + onto + " would overwrite the journal " + journal + ".");
    }
    refuse("run_report", {b, "-o", onto}, "-o " + onto + " would overwrite the journal " + journal + ".");
  }
  refuse("run_diff", {b, a, "--csv", result}, "--csv " + result + " would overwrite the result file " + result + ".");
  refuse("run_report", {b, "-o", result}, "-o " + result + " would overwrite the result file " + result + ".");
  const std::string both = scratch_ / "both";
  refuse("run_diff", {a, b, "--csv", both, "--html", scratch_ / "x/../both"},
         "--html " + (scratch_ / "x/../both").string() + " would overwrite the file of --csv " + both + ".");
  EXPECT_FALSE(fs::exists(both));
  EXPECT_EQ(read_file(journal), before);
}

// Of the run that is looked at the journal names the recording, whatever its name; others are known by their names.
TEST_F(RunDiff, NoOutputReplacesARecordingOrAFileOfAnotherRun) {
  const std::string other = write_run(scratch_ / "c", {passed("Torch.add.0")});
  const std::string details = scratch_ / "c/accuracy_checking_details_20261122120000.csv";
  const std::string dump = scratch_ / "dump.json";
  const std::string renamed = scratch_ / "renamed";
  fs::copy_file(other, renamed);
  for (const std::string& path : {details, dump}) write_file(path, "kept");
  // The recording of the run, as its header names it.
  const std::string given = scratch_ / "given";
  write_file(given, "kept");
  fs::create_directories(scratch_ / "a");
  journal::Writer::create(scratch_ / "a/accuracy_checking_20261122120000.journal",
                          nlohmann::json{{"program", "msrun"},
                                         {"api_info", "given"},
                                         {"working_directory", scratch_.path().string()},
                                         {"fingerprint", {{"calls", 1}}}}
                              .dump())
      .close_unsynced();
  fs::create_symlink(dump, scratch_ / "link");
  const std::string a = scratch_ / "a";
  const auto refused = [&](const std::string& onto, const std::string& what) {
    const std::string before = read_file(onto);
    const auto refuse = [&](const std::string& tool, const std::vector<std::string>& words) {
      const Finished run = run_tool(tool, words, scratch_.path());
      EXPECT_EQ(run.exit_code, 2) << run.out;
      EXPECT_THAT(run.err, HasSubstr(words[words.size() - 2] + " " + onto + " would overwrite " + what + ".\n"));
    };
    for (const char* option : {"--csv", "--html"}) refuse("run_diff", {a, a, option, onto});
    refuse("run_report", {a, "-o", onto});
    EXPECT_EQ(read_file(onto), before);
  };
  refused(other, "the journal " + other);
  refused(renamed, "the journal " + renamed);
  refused(details, "the details file " + details);
  refused(dump, "the recording " + dump);
  refused(scratch_ / "link", "the recording " + dump);
  refused(given, "what the run has read, " + given);
  // A file that is none of these is replaced.
  const std::string earlier = scratch_ / "earlier.csv";
  write_file(earlier, "");
  run_tool("run_diff", {a, scratch_ / "c", "--csv", earlier}, scratch_.path());
  EXPECT_NE(read_file(earlier), "");
}

TEST_F(RunDiff, TheNewestRunOfAFolderCounts) {
  ApiResult wrong = passed("Torch.add.0");
  suspicious_error(wrong);
  write("a", {passed("Torch.add.0")});
  write("b", {passed("Torch.add.0")});
  write_run(scratch_ / "b", {wrong}, usual_fingerprint(), 0, "20261122130000");
  EXPECT_EQ(diff({}).exit_code, 1);
}

TEST_F(RunDiff, ARunIsNotComparedWithItself) {
  ApiResult wrong = passed("Torch.add.0");
  suspicious_error(wrong);
  write("a", {wrong});
  fs::create_directory_symlink(scratch_ / "a", scratch_ / "b");
  const Finished same = diff({});
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_THAT(same.err, HasSubstr("Both runs are the same one, "));
  EXPECT_EQ(same.out, "");
}

// Whichever of them is written last: none is the run.
TEST_F(RunDiff, OneOfSeveralPartsIsNotTakenForTheRun) {
  write("a", {passed("Torch.add.0"), passed("Torch.mul.0")});
  const fs::path b = scratch_ / "b";
  const std::string second = "20261122130000";
  write_run(b, {passed("Torch.add.0")}, usual_fingerprint(), 2, second + "_shard9of16");
  EXPECT_EQ(diff({}).err, "") << "a part that is alone is what was named";
  write_run(b, {passed("Torch.mul.0")}, usual_fingerprint(), 2, second + "_shard10of16");
  write("b", {passed("Torch.add.0")});
  const Finished refused = diff({});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("The newest run in the directory " + b.string()),
                                 HasSubstr("accuracy_checking_" + second +
                                           "_shard10of16.journal: name that file, or "
                                           "make one run of all parts with msrun merge")));
  // The run that was made of the parts may be of the same second.
  write_run(b, {passed("Torch.add.0"), passed("Torch.mul.0")}, usual_fingerprint(), 0, second);
  EXPECT_EQ(diff({}).exit_code, 0);
  EXPECT_EQ(json()["calls"].size(), 2U);
}

TEST_F(RunDiff, CsvAndPageHoldWhatHasChanged) {
  ApiResult wrong = passed("Torch.<b>&\"=1+1.0");
  suspicious_error(wrong);
  write("a", {passed("Torch.<b>&\"=1+1.0"), passed("Torch.mul.0")});
  write("b", {wrong, passed("Torch.mul.0")});
  const Finished run = diff({"--csv", scratch_ / "d.csv", "--html", scratch_ / "d.html"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const Rows rows = read_csv(scratch_ / "d.csv");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1][2], "new");
  EXPECT_EQ(rows[2][1], "forward.output.0");
  for (const std::vector<std::string>& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  const std::string page = read_file(scratch_ / "d.html");
  EXPECT_THAT(page, Not(HasSubstr("<b>&")));
  if (!browser().empty()) {
    const std::string shown = document_of(scratch_ / "d.html", scratch_);
    EXPECT_THAT(shown, AllOf(HasSubstr("1 new, 1 the same."), HasSubstr("Torch.&lt;b&gt;&amp;")));
  }
  EXPECT_EQ(diff({"--csv", "/nowhere/d.csv"}).exit_code, 2);
  const Finished printed = diff({"--csv", "-"});
  EXPECT_EQ(printed.exit_code, 1);
  EXPECT_EQ(printed.out, read_file(scratch_ / "d.csv"));
  EXPECT_EQ(diff({"--csv", "-", "--json"}).exit_code, 2);
  EXPECT_EQ(diff({"--html", "-"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(scratch_ / "-"));
}

TEST_F(RunDiff, IsNoSuccessWhereNothingIsCompared) {
  ApiResult skipped_there = passed("Torch.mul.0");
  by_rule(skipped_there);
  write("a", {passed("Torch.add.0"), skipped_there});
  write("b", {passed("Torch.exp.0"), skipped_there});
  const Finished run = diff({});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Nothing new, 1 removed, 1 added, 1 the same.\nNothing was compared: "));
  EXPECT_THAT(diff({"--csv", "-"}).err, HasSubstr("Nothing was compared"));
  EXPECT_EQ(json()["compared"], 0);
}

TEST_F(RunDiff, ASecondRunThatIsNotCompleteIsNoSuccess) {
  write_run(scratch_ / "a", {passed("Torch.add.0"), passed("Torch.exp.0")});
  write_run(scratch_ / "b", {passed("Torch.add.0")}, usual_fingerprint(), 2);
  const Finished run = diff({});
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_THAT(run.out, HasSubstr("B is not complete"));
  // The other way round there is nothing that B does not tell.
  EXPECT_EQ(run_tool("run_diff", {scratch_ / "b", scratch_ / "a"}, scratch_.path()).exit_code, 0);
}

// The CSV of a rank below the folder of a run of several.
std::string csv_of_rank(const fs::path& run, const std::string& rank) {
  const fs::path csv = run / rank / "accuracy_checking_result_20261122120000.csv";
  fs::create_directories(csv.parent_path());
  std::ofstream(csv) << "API name,Forward Test Success,Backward Test Success,Message\nTorch.add.0,pass,pass\n";
  return csv.string();
}

TEST_F(RunDiff, ACsvOfOneOfSeveralRanksIsTheRunOfThatRankAlone) {
  const TemporaryDirectory scratch;
  ApiResult other = passed("step0/rank1:Torch.add.0");
  suspicious_error(other);
  write_run(scratch / "ranks", {passed("step0/rank0:Torch.add.0"), passed("step0/rank0:Torch.exp.0"), other},
            usual_fingerprint(), 0, "20261122120000", {"step0/rank0", "step0/rank1"});
  const std::string rank0 = csv_of_rank(scratch / "ranks", "step0/rank0");
  const std::string rank1 = csv_of_rank(scratch / "ranks", "step0/rank1");
  const Finished ranks = run_tool("run_diff", {rank0, rank1}, scratch.path());
  EXPECT_EQ(ranks.exit_code, 1) << ranks.err;
  EXPECT_THAT(ranks.out, AllOf(HasSubstr("1 new, 1 removed."), HasSubstr("\n  Torch.add.0  pass -> suspicious")));
  const Finished folders =
      run_tool("run_diff", {scratch / "ranks/step0/rank0", scratch / "ranks/step0/rank1"}, scratch.path());
  EXPECT_EQ(folders.exit_code, 1) << folders.err;
  EXPECT_THAT(folders.out, AllOf(HasSubstr("1 new, 1 removed."), HasSubstr("\n  Torch.add.0  pass -> suspicious"),
                                 Not(HasSubstr("by status and columns"))));
  // Against a run of that recording alone, whose calls have no rank in front.
  write_run(scratch / "alone", {passed("Torch.add.0"), passed("Torch.exp.0")});
  const Finished alone = run_tool("run_diff", {rank0, scratch / "alone"}, scratch.path());
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.out, AllOf(HasSubstr("2 calls"), HasSubstr("Nothing new, 2 the same."), Not(HasSubstr("Other:"))));
}

TEST_F(RunDiff, ARankWhoseCallsTheJournalDoesNotTellIsRefused) {
  const TemporaryDirectory scratch;
  write_run(scratch / "ranks", {passed("Torch.add.0")}, usual_fingerprint(), 0, "20261122120000", {"rank0"});
  const std::string csv = csv_of_rank(scratch / "ranks", "rank0");
  // The journal without the record of the rank.
  const fs::path journal = only_file(scratch / "ranks", "accuracy_checking_2");
  const std::string header = journal::read_header(*journal::open_source(journal)).metadata;
  fs::remove(journal);
  journal::Writer::create(journal, header).close();
  const Finished run = run_tool("run_diff", {csv, csv}, scratch.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("does not say which calls are those of rank0"));
}

}  // namespace
}  // namespace msrun::testing
