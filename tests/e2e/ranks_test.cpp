// Runs over the recordings of several ranks: what is checked, whose files say what, how such a run is continued.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "journal/reader.h"
#include "journal/writer.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string statistics =
    R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8, 8], "Max": 1, "Min": 0, "Mean": 0.5, "Norm": 1, )"
    R"("requires_grad": true})";

std::string entry(const std::string& name, const std::string& arguments = statistics) {
  return '"' + name + R"(.forward": {"input_args": [)" + arguments + R"(], "input_kwargs": {}, "output": []})";
}

class Ranks : public Untouched {
 protected:
  fs::path folder() const { return scratch_ / "ranks"; }
  // Several places with the same recording.
  void place(const fs::path& recording, const std::vector<std::string>& ranks) const {
    for (const std::string& rank : ranks) {
      fs::create_directories(folder() / rank);
      fs::copy(recording.parent_path(), folder() / rank, fs::copy_options::recursive);
    }
  }
  void write(const std::string& rank, const std::string& data) const {
    fs::create_directories(folder() / rank);
    write_file(folder() / rank / "dump.json", dump_text(data));
  }
  Finished check(const std::vector<std::string>& more = {}) const { return check_of(folder(), out(), more); }
  Finished check_of(const fs::path& input, const fs::path& output, const std::vector<std::string>& more) const {
    std::vector<std::string> words{"-api_info", input, "-o", output, "-n", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }
  // Both files of a rank are those of a run of its recording alone.
  void expect_as_alone(const std::string& rank, const std::vector<std::string>& more = {}, int exit_code = 0) const {
    const fs::path alone = scratch_ / ("alone" + std::to_string(++alone_));
    ASSERT_EQ(check_of(folder() / rank / "dump.json", alone, more).exit_code, exit_code);
    for (const char* prefix : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
      EXPECT_EQ(read_file(only_file(out() / rank, prefix)), read_file(only_file(alone, prefix))) << rank;
    }
  }
  std::vector<std::string> checked(const std::string& rank) const {
    return names(read_csv(only_file(out() / rank, "accuracy_checking_result_")));
  }
  fs::path journal() const { return only_journal(out()); }
  nlohmann::json contents() const {
    return nlohmann::json::parse(msrun({"journal", journal(), "--json"}, scratch_.path()).out);
  }

 private:
  mutable int alone_ = 0;
};

TEST_F(Ranks, ThatRecordTheSameAreTheWorkOfOne) {
  const std::vector<std::string> all{"step0/rank0", "step0/rank1", "step0/rank2", "step0/rank10",
                                     "step1/rank0", "step1/rank1", "step1/rank2", "step1/rank10"};
  place(dump("llama_fp32"), all);
  const Finished run = check({"--summary"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("1072 calls of 8 ranks, at most 134 of one: 134 are checked"));
  EXPECT_THAT(run.out, HasSubstr("Conclusions from 134 calls, which stand for 1072 calls of 8 ranks\n"));
  EXPECT_THAT(run.out, HasSubstr("  step0/rank0, step0/rank1, step0/rank2 and 5 more\n"));
  for (const std::string& rank : all) expect_as_alone(rank);
  EXPECT_EQ(contents()["calls"], 134);
  // Files there are none but those of the ranks, one journal and one report.
  std::size_t files = 0;
  for (const auto& file : fs::recursive_directory_iterator(out())) files += file.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 18U);
}

TEST_F(Ranks, ACallThatOnlyOneHasIsItsOwnAndAFaultInItAccusesNoOther) {
  const std::string common = entry("Torch.exp.0") + "," + entry("Torch.cos.0");
  for (const char* rank : {"rank0", "rank1", "rank2"}) write(rank, common);
  write("rank3", entry("Torch.exp.0") + "," + entry("Torch.sin.4") + "," + entry("Torch.cos.1"));
  const std::vector<std::string> fault{"--sim-fault", "Torch.sin.4=scale=2"};
  const Finished run = check({"--sim-fault", "Torch.sin.4=scale=2", "--summary"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("rank3:Torch.sin.4"));
  EXPECT_THAT(run.out, HasSubstr("--only rank3:Torch.sin.4"));
  EXPECT_THAT(run.out, HasSubstr("\n        3           1              0"));
  EXPECT_THAT(run.out, HasSubstr("\n        2           0              0"));
  EXPECT_THAT(checked("rank3"), ElementsAre("Torch.exp.0", "Torch.sin.4", "Torch.cos.1"));
  EXPECT_EQ(contents()["calls"], 3);
  for (const char* rank : {"rank0", "rank1", "rank2"}) expect_as_alone(rank);
  const Finished again =
      check_of(folder(), scratch_ / "again",
               {"--sim-fault", "Torch.sin.4=scale=2", "--only", "rank3:Torch.sin.*", "--fail-on", "error"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_TRUE(fs::exists(scratch_ / "again/rank3"));
  EXPECT_FALSE(fs::exists(scratch_ / "again/rank0"));
}

TEST_F(Ranks, ASuspiciousCallNamesTheRanksItStandsFor) {
  for (int i = 0; i < 6; ++i) write("rank" + std::to_string(i), entry("Torch.exp.0"));
  const Finished run = check({"--sim-fault", "Torch.exp.*=scale=2", "--summary", "--fail-on", "suspicious"});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("A call of 6 ranks: rank0, rank1, rank2 and 3 more\n"));
  for (int i = 0; i < 6; ++i) {
    const Rows rows = read_csv(only_file(out() / ("rank" + std::to_string(i)), "accuracy_checking_result_"));
    EXPECT_EQ(rows.at(1).at(1), "error");
  }
}

TEST_F(Ranks, AcrossRanksValuesAndOffCheckWhatDiffers) {
  std::string other = statistics;
  other.replace(other.find("\"Max\": 1"), 8, "\"Max\": 3");
  write("rank0", entry("Torch.exp.0"));
  write("rank1", entry("Torch.exp.0", other));
  write("rank2", entry("Torch.exp.0", other));
  ASSERT_EQ(check({"--across-ranks", "values"}).exit_code, 0);
  EXPECT_EQ(contents()["calls"], 2);
  for (const char* rank : {"rank0", "rank1", "rank2"}) expect_as_alone(rank);
  fs::remove_all(out());
  ASSERT_EQ(check({"--across-ranks", "off"}).exit_code, 0);
  EXPECT_EQ(contents()["calls"], 3);
  for (const char* rank : {"rank0", "rank1", "rank2"}) expect_as_alone(rank);
  fs::remove_all(out());
  ASSERT_EQ(check().exit_code, 0);
  EXPECT_EQ(contents()["calls"], 1);
  expect_as_alone("rank0");
}

TEST_F(Ranks, TensorsAreEachRanksOwn) {
  place(dump("zoo_tensor_small"), {"rank0", "rank1"});
  const Finished run = check();
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("Device under test: recorded"));
  expect_as_alone("rank0");
  expect_as_alone("rank1");
  EXPECT_EQ(contents()["calls"], 2 * checked("rank0").size());
  // Files are read from the folder of the rank whose call it is.
  fs::remove_all(out());
  fs::remove_all(folder() / "rank1/dump_tensor_data");
  const Finished without = check();
  EXPECT_THAT(without.out, HasSubstr("rank1/dump.json has its tensors in files, but there is no directory"));
  expect_as_alone("rank0");
  // Alone, nothing of it is checked.
  expect_as_alone("rank1", {}, 1);
}

TEST_F(Ranks, ErrorDataIsKeptByRank) {
  write("step0/rank0", entry("Torch.exp.0"));
  std::string other = statistics;
  other.replace(other.find("[8, 8]"), 6, "[4, 4]");
  write("step0/rank1", entry("Torch.exp.0", other));
  ASSERT_EQ(check({"--sim-fault", "Torch.exp.*=scale=2", "-save_error_data"}).exit_code, 0);
  for (const fs::directory_entry& kept : fs::directory_iterator(out())) {
    if (!kept.is_directory() || kept.path().filename() == "step0") continue;
    EXPECT_FALSE(fs::is_empty(kept.path() / "step0/rank0"));
    EXPECT_FALSE(fs::is_empty(kept.path() / "step0/rank1"));
    return;
  }
  ADD_FAILURE() << "no error data";
}

TEST_F(Ranks, AKilledRunEndsWithTheSameBytes) {
  place(dump("llama_bf16"), {"step0/rank0", "step0/rank1", "step1/rank0"});
  write("step1/rank1", entry("Torch.exp.0") + "," + entry("Torch.sin.4"));
  ASSERT_EQ(check_of(folder(), scratch_ / "whole", {}).exit_code, 0);
  {
    Process run({"-api_info", folder(), "-o", out(), "-n", "4", "--sim-fault", "Tensor.__mul__.0=hang"},
                scratch_.path());
    const auto most_are_done = [&] {
      if (!fs::exists(out()) || fs::is_empty(out())) return false;
      const auto found =
          nlohmann::json::parse(msrun({"journal", out(), "--json"}, scratch_.path()).out, nullptr, false);
      return found.is_object() && found.value("results", 0) > 70;
    };
    ASSERT_TRUE(eventually(60, most_are_done));
    run.signal(SIGKILL);
    run.wait();
  }
  const Finished resumed = msrun({"-csv_path", journal()}, scratch_.path());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("calls were finished by the earlier run"));
  for (const char* rank : {"step0/rank0", "step0/rank1", "step1/rank0", "step1/rank1"}) {
    for (const char* prefix : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
      EXPECT_EQ(read_file(only_file(out() / rank, prefix)), read_file(only_file(scratch_ / "whole" / rank, prefix)))
          << rank;
    }
  }
}

TEST_F(Ranks, ARunOfOtherRanksIsNotContinuedAndTheyAreNamed) {
  for (const char* rank : {"rank0", "rank1", "rank2"}) write(rank, entry("Torch.exp.0"));
  ASSERT_EQ(check().exit_code, 0);
  const fs::path of_run = journal();
  write("rank1", entry("Torch.cos.0"));
  fs::remove_all(folder() / "rank2");
  write("rank3", entry("Torch.exp.0"));
  const Finished run = msrun({"-csv_path", of_run}, scratch_.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("rank1 is another one"), HasSubstr("rank3 was not there"),
                             HasSubstr("rank2 is no longer there")));
  EXPECT_EQ(msrun({"-csv_path", of_run, "--across-ranks", "off"}, scratch_.path()).exit_code, 2);
}

// A header that was forged, or written by somebody else, is told of in one line.
TEST_F(Ranks, NamesThatAreNoTextsAreNotTakenForRanks) {
  write("rank0", entry("Torch.exp.0"));
  write("rank1", entry("Torch.sin.0"));
  ASSERT_EQ(check().exit_code, 0);
  auto metadata = nlohmann::json::parse(journal::read_header(*journal::open_source(journal())).metadata);
  metadata["recordings"][0]["rank"] = 7;
  metadata["fingerprint"]["dump"] = "0";
  const fs::path forged = scratch_ / "forged/accuracy_checking_20261122120000.journal";
  fs::create_directories(forged.parent_path());
  journal::Writer::create(forged, metadata.dump()).close();
  const Finished run = msrun({"-api_info", folder(), "-csv_path", forged}, scratch_.path());
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("cannot be continued with this dump"), HasSubstr("rank0 was not there")));
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
}

TEST_F(Ranks, RecordsOfMoreRanksThanTheHeaderNamesAreDamage) {
  for (const char* rank : {"rank0", "rank1", "rank2"}) write(rank, entry("Torch.exp.0"));
  ASSERT_EQ(check().exit_code, 0);
  auto metadata = nlohmann::json::parse(journal::read_header(*journal::open_source(journal())).metadata);
  metadata["recordings"].erase(1);
  fs::create_directories(scratch_ / "forged");
  const fs::path forged = scratch_ / "forged/accuracy_checking_20261122120000.journal";
  {
    journal::Writer writer = journal::Writer::create(forged, metadata.dump());
    journal::read(journal(), [&](std::string_view record) { writer.append(record); });
    writer.close();
  }
  const Finished run = msrun({"merge", forged, "-o", scratch_ / "merged"}, scratch_.path());
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_THAT(run.err, HasSubstr("have records of 3 ranks, of which their headers name 2: they are damaged."));
}

TEST_F(Ranks, PartsOfSeveralProcessesAreMergedToTheFilesOfOne) {
  place(dump("vit_fp32"), {"step0/rank0", "step0/rank1"});
  write("step0/rank2", entry("Torch.exp.0") + "," + entry("Torch.sin.4"));
  ASSERT_EQ(check_of(folder(), scratch_ / "whole", {}).exit_code, 0);
  for (const char* part : {"1/2", "2/2"}) {
    ASSERT_EQ(check_of(folder(), scratch_ / "parts", {"--shard", part}).exit_code, 0) << part;
  }
  const Finished merged = msrun({"merge", scratch_ / "parts", "-o", out()}, scratch_.path());
  ASSERT_EQ(merged.exit_code, 0) << merged.out << merged.err;
  EXPECT_THAT(merged.out, HasSubstr("and so for each of the 3 ranks"));
  for (const char* rank : {"step0/rank0", "step0/rank1", "step0/rank2"}) {
    for (const char* prefix : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
      EXPECT_EQ(read_file(only_file(out() / rank, prefix)), read_file(only_file(scratch_ / "whole" / rank, prefix)))
          << rank;
    }
  }
  EXPECT_EQ(contents()["ranks"].size(), 3U);
}

TEST_F(Ranks, ADryRunNamesTheRankOfACall) {
  write("rank0", entry("Torch.exp.0"));
  write("rank1", entry("Torch.no_such_function.0"));
  const Finished planned = check({"--dry-run"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("the first is rank1:Torch.no_such_function.0"));
}

// Servers that show tests put those of one class together.
TEST_F(Ranks, JunitHasApisAsClasses) {
  for (const char* rank : {"rank0", "rank1"}) write(rank, entry("Torch.exp.0"));
  ASSERT_EQ(check({"--junit", scratch_ / "junit.xml"}).exit_code, 0);
  EXPECT_THAT(read_file(scratch_ / "junit.xml"),
              AllOf(HasSubstr("classname=\"Torch.exp\""), Not(HasSubstr(":Torch.exp\" time"))));
}

// Whoever has opened the file of one rank goes on from there.
TEST_F(Ranks, ACsvOfOneRankLeadsToTheRun) {
  for (const char* rank : {"step0/rank0", "step0/rank1"}) write(rank, entry("Torch.exp.0"));
  ASSERT_EQ(check({"--sim-fault", "Torch.exp.*=scale=2", "--no-report"}).exit_code, 0);
  const fs::path result = only_file(out() / "step0/rank1", "accuracy_checking_result_");
  const fs::path details = only_file(out() / "step0/rank1", "accuracy_checking_details_");
  const std::string before = read_file(details);
  for (const fs::path& file : {result, details, fs::relative(result)}) {
    const Finished resumed = msrun({"-csv_path", file}, scratch_.path());
    EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
    EXPECT_THAT(resumed.out, HasSubstr("1 of 1 calls were finished by the earlier run"));
  }
  EXPECT_EQ(read_file(details), before);
  EXPECT_EQ(msrun({"journal", result}, scratch_.path()).out, msrun({"journal", journal()}, scratch_.path()).out);
  const Finished report = run_tool("run_report", {details}, scratch_.path());
  EXPECT_EQ(report.exit_code, 0) << report.err;
  // A folder is no file of the run, and leads to it as well.
  for (const fs::path& folder : {out(), out() / "step0/rank1"}) {
    expect_refused({"-csv_path", folder}, {"is a folder; its newest run is continued with -csv_path", journal()});
  }
  // Copied elsewhere it leads nowhere, nor does one that another journal is above of.
  fs::create_directories(out() / "step0/rank7");
  fs::copy(out() / "step0/rank1", out() / "step0/rank7", fs::copy_options::recursive);
  expect_refused({"-csv_path", only_file(out() / "step0/rank7", "accuracy_checking_result_")}, {"no journal beside"});
}

TEST_F(Ranks, ACsvOfOneRankIsTheRunOfThatRankForToolsThatReadRuns) {
  // Of rank1 the call has another name than that of rank0, whose result it has.
  write("rank0", entry("Torch.exp.0"));
  write("rank1", entry("Torch.sin.0") + "," + entry("Torch.exp.1"));
  ASSERT_EQ(check({"--sim-fault", "rank1:Torch.sin.*=scale=2"}).exit_code, 0);
  ASSERT_EQ(check_of(folder() / "rank1" / "dump.json", scratch_ / "one", {"--no-report"}).exit_code, 0);
  const fs::path csv = only_file(out() / "rank1", "accuracy_checking_result_");
  const Finished diff = run_tool("run_diff", {scratch_ / "one", csv}, scratch_.path());
  EXPECT_EQ(diff.exit_code, 1) << diff.err;
  EXPECT_THAT(diff.out,
              AllOf(HasSubstr("\nB: "), HasSubstr("(2 calls"), HasSubstr("1 new"), HasSubstr("\n  Torch.sin.0"),
                    Not(HasSubstr("removed")), Not(HasSubstr("rank1:Torch")), Not(HasSubstr("the recording"))));
  // The report is that of the rank, and not in place of that of the run.
  const std::string whole = read_file(only_file(out(), "accuracy_checking_report_"));
  const Finished made = run_tool("run_report", {csv}, scratch_.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string own = read_file(only_file(out() / "rank1", "accuracy_checking_report_"));
  EXPECT_EQ(read_file(only_file(out(), "accuracy_checking_report_")), whole);
  EXPECT_THAT(own, AllOf(HasSubstr("rank1/dump.json"), HasSubstr("2 of 2 have a result"),
                         HasSubstr("look at Torch.sin.0 first"), HasSubstr("Torch.exp")));
}

TEST_F(Ranks, AFaultOfTheDeviceMayBeThatOfOneRank) {
  for (const char* rank : {"step0/rank0", "step0/rank1", "step0/rank3"}) {
    write(rank, entry("Torch.exp.0") + "," + entry("Torch.cos.0"));
  }
  const std::string fault = "rank3:Torch.exp.*=scale=2";
  const Finished run = check({"--sim-fault", fault, "--summary"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("6 calls of 3 ranks, at most 2 of one: 3 are checked"),
                             HasSubstr("error    step0/rank3:Torch.exp.0"), HasSubstr("--only step0/rank3:Torch.exp.0"),
                             Not(HasSubstr("no call matches"))));
  for (const char* rank : {"step0/rank0", "step0/rank1", "step0/rank3"}) {
    const Rows rows = read_csv(only_file(out() / rank, "accuracy_checking_result_"));
    EXPECT_EQ(rows.at(1).at(1), std::string(rank).ends_with("3") ? "error" : "pass") << rank;
    EXPECT_EQ(rows.at(2).at(1), "pass") << rank;
  }
  EXPECT_THAT(msrun({"-csv_path", journal()}, scratch_.path()).out, HasSubstr("3 of 3 calls were finished"));
  const Finished none = check_of(folder(), scratch_ / "none", {"--sim-fault", "rank2:Torch.exp.*=scale=2"});
  EXPECT_THAT(none.out, AllOf(HasSubstr("2 are checked"), HasSubstr("--sim-fault: no call matches")));
}

// What ends a process is not taken over by the run that goes on, which plans the same all the same.
TEST_F(Ranks, ARunThatARanksFaultHasKilledGoesOnWithoutIt) {
  for (const char* rank : {"rank0", "rank3"}) write(rank, entry("Torch.exp.0") + "," + entry("Torch.cos.0"));
  {
    Process run({"-api_info", folder(), "-o", out(), "-n", "2", "--sim-fault", "rank3:Torch.exp.*=hang"},
                scratch_.path());
    const auto others_are_done = [&] {
      if (!fs::exists(out()) || fs::is_empty(out())) return false;
      const auto found =
          nlohmann::json::parse(msrun({"journal", out(), "--json"}, scratch_.path()).out, nullptr, false);
      return found.is_object() && found.value("results", 0) == 2;
    };
    ASSERT_TRUE(eventually(60, others_are_done));
    run.signal(SIGKILL);
    run.wait();
  }
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--backend", "sim"}}) {
    std::vector<std::string> words{"-csv_path", journal()};
    words.insert(words.end(), more.begin(), more.end());
    const Finished resumed = msrun(words, scratch_.path());
    EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  }
  for (const char* rank : {"rank0", "rank3"}) expect_as_alone(rank);
}

TEST_F(Ranks, OneRecordingInAFolderIsARunOfThatRecording) {
  place(dump("vit_fp32"), {"step0/rank0"});
  const Finished run = check({"--only", "Functional.gelu.*"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("the one dump.json there is checked, "));
  EXPECT_TRUE(fs::exists(only_file(out(), "accuracy_checking_result_")));
}

TEST_F(Ranks, OneOfChecksumsAloneIsNamedWithAWayAround) {
  for (const char* rank : {"rank0", "rank1"}) write(rank, entry("Torch.exp.0"));
  const std::string checksum =
      R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8, 8], "md5": "0a1b2c3d", "requires_grad": true})";
  for (const char* rank : {"rank2", "rank3"}) write(rank, entry("Torch.exp.0", checksum));
  const std::string first = folder() / "rank2/dump.json";
  expect_refused({"-api_info", folder(), "-o", out()},
                 {first + " and 1 other rank hold of their tensors md5 checksums only", "--except 'rank2:*,rank3:*'"});
  expect_refused({"-api_info", folder(), "-o", out(), "--except", "rank3:*"},
                 {first + " holds of its tensors md5 checksums only", "--except 'rank2:*'"});
  const Finished run = check({"--except", "rank2:*,rank3:*"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  expect_refused({"-api_info", folder(), "-o", out(), "--only", "rank2:*,rank3:*"},
                 {folder().string() + " holds of its tensors md5 checksums only"});
}

// A rank that is not checked is warned of, and so is one that has nothing to be checked.
TEST_F(Ranks, WhatIsNotCheckedIsWarnedOf) {
  for (const char* rank : {"step0/rank0", "step0/rank1", "step1/rank0"}) write(rank, entry("Torch.exp.0"));
  write("step1/rank2", R"("Module.fc.Linear.forward.0": {"input_args": [], "input_kwargs": {}, "output": []})");
  fs::create_directory(folder() / "step1/rank1");
  const Finished run = check();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("[WARNING] -api_info " + folder().string() +
                                       ": there is no dump.json of 2 ranks, "
                                       "the first is step0/rank2."),
                             HasSubstr("[WARNING] " + (folder() / "step1/rank2/dump.json").string() +
                                       " records modules only, no call to check.")));
}

TEST_F(Ranks, WhatOneRecordingAloneCanHaveIsRefused) {
  for (const char* rank : {"rank0", "rank1"}) write(rank, entry("Torch.exp.0"));
  const std::string first = folder() / "rank0/dump.json";
  const std::string second = folder() / "rank1/dump.json";
  expect_refused({"run_overflow_check", "-api_info", folder()},
                 {"run_overflow_check takes one recording", first, second});
  expect_refused({"-api_info", folder(), "-o", out(), "--layout", "att"}, {"--layout att takes one recording", second});
  write_file(folder() / "rank1/dump.json", "{\"data\": {");
  expect_refused({"-api_info", folder(), "-o", out()}, {second, "--except 'rank1:*'"});
  write_file(folder() / "rank1/dump.json", "");
  expect_refused({"-api_info", folder(), "-o", out()}, {second, "--except 'rank1:*'"});
  EXPECT_EQ(check({"--except", "rank1:*"}).exit_code, 0);
}

}  // namespace
}  // namespace msrun::testing
