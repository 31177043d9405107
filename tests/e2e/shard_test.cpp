// Parts of a recording that are checked by a process each, and the one run that msrun merge makes of them.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "journal/reader.h"
#include "journal/writer.h"
#include "runner/results/record.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class Shards : public Untouched {
 protected:
  fs::path parts() const { return scratch_ / "parts"; }
  fs::path merged() const { return scratch_ / "merged"; }

  Finished run(const Words& words) { return msrun(words, scratch_.path()); }

  // Checks these parts of so many.
  void check_parts(const Words& input, const std::vector<int>& numbers, int of, const Words& more = {}) {
    for (const int number : numbers) {
      const std::string shard = std::to_string(number) + "/" + std::to_string(of);
      const Finished finished = run(input + Words{"-o", parts(), "--shard", shard} + more);
      ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    }
  }

  Finished merge(const Words& more = {}) {
    fs::remove_all(merged());
    return run(Words{"merge", parts(), "-o", merged()} + more);
  }

  fs::path journal_of(int number, int of) const {
    const std::string end = "_shard" + std::to_string(number) + "of" + std::to_string(of) + ".journal";
    for (const fs::directory_entry& entry : fs::directory_iterator(parts())) {
      if (entry.path().filename().string().ends_with(end)) return entry.path();
    }
    ADD_FAILURE() << "no journal " << end;
    return {};
  }

  static void expect_same_csvs(const fs::path& one, const fs::path& other) {
    for (const char* prefix : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
      EXPECT_EQ(read_file(only_file(one, prefix)), read_file(only_file(other, prefix))) << prefix;
    }
  }

  // The journal with its results changed, or without those of which change says no.
  static void rewrite(const fs::path& journal, const std::function<bool(ApiResult&)>& change) {
    std::vector<std::string> records;
    const journal::Recovery recovery = journal::read(journal, [&](std::string_view bytes) {
      Record record = decode_record(bytes);
      auto* result = std::get_if<ApiResult>(&record);
      if (result == nullptr) {
        records.emplace_back(bytes);
      } else if (change(*result)) {
        records.push_back(encode(*result));
      }
    });
    fs::remove(journal);
    journal::Writer writer = journal::Writer::create(journal, recovery.metadata);
    for (const std::string& record : records) writer.append(record);
    writer.close();
  }
};

struct Case {
  const char* dump;
  Words more;
};

TEST_F(Shards, MakeTheRunOfOneMachine) {
  const std::vector<Case> cases{
      {"llama_bf16", {}},
      {"cnn_fp32_mix", {"-n", "3", "-d", "0", "1"}},
      {"moe_bf16", {"-f"}},
      {"zoo_stat", {"--titles", "en"}},
      {"vit_fp32", {"--compat", "msprobe"}},
      {"llama_bf16_mix", {"--only", "Functional.*,Torch.*", "--except", "*.0"}},
      {"llama_bf16", {"--sim-fault", "Torch.matmul.*=wrong-element", "--sim-fault", "Functional.silu.*=nan-tail"}},
      {"llama_bf16", {"--seed-mode", "stream", "--repeat", "2"}},
      {"cnn_fp32", {"-d", "0", "1", "--same-on-all", "--sim-fault", "Torch.*=wrong-on-device=1"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(std::string(one.dump) + ::testing::PrintToString(one.more));
    fs::remove_all(parts());
    fs::remove_all(out());
    const Words input = Words{"-api_info", dump(one.dump)} + one.more;
    const Finished whole = run(input + Words{"-o", out()});
    ASSERT_EQ(whole.exit_code, 0) << whole.out << whole.err;
    check_parts(input, {1, 2, 3}, 3);
    std::set<std::string> seen;
    for (int number = 1; number <= 3; ++number) {
      std::string result = journal_of(number, 3).filename();
      result.replace(result.rfind(".journal"), std::string::npos, ".csv");
      result.replace(0, std::string("accuracy_checking").size(), "accuracy_checking_result");
      for (const std::string& name : names(read_csv(parts() / result))) EXPECT_TRUE(seen.insert(name).second) << name;
    }
    const Finished finished = merge();
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    expect_same_csvs(out(), merged());
  }
}

// Whether it is full from the start or later: a run that was stopped.
TEST_F(Shards, AreNotMergedToHalfOnAFullDisk) {
  check_parts({"-api_info", dump("llama_bf16")}, {1, 2}, 2);
  ASSERT_EQ(merge().exit_code, 0);
  const auto journal = fs::file_size(only_journal(merged()));
  const auto details = fs::file_size(only_file(merged(), "accuracy_checking_details_"));
  for (const auto room : {journal / 2, journal + 1}) {
    if (room > journal && details <= room) continue;
    const InheritedLimit disk(RLIMIT_FSIZE, room);
    const Finished finished = merge();
    EXPECT_EQ(finished.exit_code, 3) << finished.out << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("File too large"));
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
    EXPECT_TRUE(fs::is_empty(merged()));
  }
  const InheritedLimit disk(RLIMIT_FSIZE, 100);
  EXPECT_EQ(merge().exit_code, 3);
}

TEST_F(Shards, OfSeveralRanksMakeTheFilesOfEachRank) {
  const fs::path job = scratch_ / "job";
  for (const char* rank : {"rank0", "rank1", "rank2"}) fs::create_directories(job / "step0" / rank);
  fs::copy_file(dump("llama_bf16"), job / "step0/rank0/dump.json");
  fs::copy_file(dump("llama_bf16"), job / "step0/rank1/dump.json");
  fs::copy_file(dump("cnn_fp32"), job / "step0/rank2/dump.json");
  const Words input{"-api_info", job};
  ASSERT_EQ(run(input + Words{"-o", out()}).exit_code, 0);
  check_parts(input, {1, 2, 3}, 3);
  const Finished finished = merge();
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out())) {
    if (entry.path().extension() != ".csv") continue;
    const std::string name = entry.path().filename();
    const fs::path folder = merged() / fs::relative(entry.path().parent_path(), out());
    EXPECT_EQ(read_file(entry.path()), read_file(only_file(folder, name.substr(0, name.rfind('_') + 1)))) << name;
    ++files;
  }
  EXPECT_EQ(files, 6U);
  // What is missing is checked by continuing the journal.
  fs::remove(journal_of(2, 3));
  EXPECT_EQ(merge().exit_code, 3);
  const Finished continued = run({"-csv_path", only_file(merged(), "accuracy_checking_")});
  EXPECT_EQ(continued.exit_code, 0) << continued.out << continued.err;
  const fs::path details = only_file(out() / "step0/rank2", "accuracy_checking_details_");
  EXPECT_EQ(read_file(only_file(merged() / "step0/rank2", "accuracy_checking_details_")), read_file(details));
}

TEST_F(Shards, SayWhichPartTheyAreAndHowToMerge) {
  const Finished part = run({"-api_info", dump("llama_bf16"), "-o", parts(), "--shard", "2/4", "--summary"});
  EXPECT_THAT(part.out, AllOf(HasSubstr("[WARNING] Only part 2 of 4 is checked here"),
                              HasSubstr("Checked here: part 2 of 4"), HasSubstr("merge " + parts().string())));
  const Finished all = run({"-api_info", dump("llama_bf16"), "-o", out()});
  EXPECT_THAT(all.out, AllOf(Not(HasSubstr("part")), Not(HasSubstr("merge"))));
}

// One more process than calls: the last has nothing to do, which is no failure.
TEST_F(Shards, MayBeEmpty) {
  const Words input{"-api_info", dump("llama_bf16"), "--only", "Functional.silu.0,Functional.silu.1"};
  check_parts(input, {1, 2, 3}, 3);
  EXPECT_EQ(merge().exit_code, 0);
  EXPECT_EQ(read_csv(only_file(merged(), "accuracy_checking_result_")).size(), 3U);
}

TEST_F(Shards, ThatAreMissingAreNamedWithTheLineThatChecksThem) {
  const Words input{"-api_info", dump("llama_bf16")};
  ASSERT_EQ(run(input + Words{"-o", out()}).exit_code, 0);
  check_parts(input, {1, 3}, 3);
  Finished finished = merge();
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.out, AllOf(HasSubstr("no journal of part 2/3"), HasSubstr("--shard 2/3 -o " + parts().string()),
                                  HasSubstr("-csv_path " + merged().string())));
  // The merged run is continued like any other, with what is missing and no more.
  const fs::path result = only_file(merged(), "accuracy_checking_result_");
  const std::size_t there = read_csv(result).size() - 1;
  finished = run({"-csv_path", result});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr(std::to_string(there) + " of 84 calls were finished by the earlier run"));
  expect_same_csvs(out(), merged());
  EXPECT_THAT(run({"journal", merged()}).out, HasSubstr("84 of 84"));
  // Or the part is checked, and all are merged again.
  check_parts(input, {2}, 3);
  EXPECT_EQ(merge().exit_code, 0);
  expect_same_csvs(out(), merged());
}

TEST_F(Shards, ThatOverlapAgree) {
  const Words input{"-api_info", dump("llama_bf16")};
  ASSERT_EQ(run(input + Words{"-o", out()}).exit_code, 0);
  check_parts(input, {1, 2}, 2);
  check_parts(input, {2, 3}, 3, {"-d", "5"});
  const Finished finished = run({"merge", parts(), out(), "-o", merged(), "--json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_same_csvs(out(), merged());
  const auto report = nlohmann::json::parse(finished.out);
  EXPECT_EQ(report["parts"].size(), 5U);
  EXPECT_GT(report["overlapping"], 84);
  EXPECT_EQ(report["disagreements"].size(), 0U);
  // One journal is one part, by whichever ways it is named.
  const fs::path link = scratch_ / "link.journal";
  fs::create_symlink(journal_of(1, 2), link);
  const Finished once =
      run({"merge", parts(), link, parts() / "../parts" / journal_of(2, 2).filename(), "-o", merged(), "--json"});
  EXPECT_EQ(nlohmann::json::parse(once.out)["parts"].size(), 4U);
}

TEST_F(Shards, ThatDisagreeAreNamed) {
  const Words input{"-api_info", dump("llama_bf16")};
  ASSERT_EQ(run(input + Words{"-o", out()}).exit_code, 0);
  check_parts(input, {1, 2}, 2);
  check_parts(input, {1}, 1);
  rewrite(journal_of(1, 1), [](ApiResult& result) {
    if (result.name == "Functional.silu.0") result.forward = Status::error;
    return true;
  });
  Finished finished = merge();
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.out, AllOf(HasSubstr("disagree about 1 call\n  Functional.silu.0: "),
                                  HasSubstr(journal_of(1, 1).filename().string())));
  // A call that one of them could not run is no disagreement: the other's result counts.
  rewrite(journal_of(1, 1), [](ApiResult& result) {
    if (result.name == "Functional.silu.0") {
      result = skip_result(result.task, result.name, "The runner died.", Outcome::failed_to_run);
    }
    return true;
  });
  finished = merge();
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out, HasSubstr("failed to run the call: 1 call\n  Functional.silu.0: "));
  expect_same_csvs(out(), merged());
}

// Whether tensors could be kept is of a host; of two results the one that has them counts.
TEST_F(Shards, DoNotDisagreeAboutTensorsThatOneCouldNotKeep) {
  const Words input{"-api_info", dump("llama_bf16"), "--sim-fault", "Functional.silu.0=scale=2"};
  check_parts(input, {1, 2}, 2);
  check_parts(input, {1}, 1);
  const auto unsaved_here = [](ApiResult& result) {
    if (result.name == "Functional.silu.0") result.unsaved = "The tensors could not be saved: the disk is full.";
    return true;
  };
  for (const auto& [number, of] : {std::pair{1, 1}, {1, 2}, {2, 2}}) {
    rewrite(journal_of(number, of), unsaved_here);
    const Finished finished = merge();
    EXPECT_EQ(finished.exit_code, 0) << finished.out;
    EXPECT_THAT(finished.out, Not(HasSubstr("disagree")));
    const bool nobody_has_them = of == 2 && number == 2;
    EXPECT_EQ(read_file(only_file(merged(), "accuracy_checking_result_")).find("the disk is full") != std::string::npos,
              nobody_has_them);
  }
}

// A pass that is suspicious is told of with its own reason by every run that shows it.
TEST_F(Shards, TellWhyAPassIsSuspiciousAsTheWholeRunDoes) {
  const Words input{"-api_info", dump("llama_fp32"), "--sim-fault", "Torch.matmul.*=scale=1.00001"};
  const Finished whole = run(input + Words{"-o", out(), "--summary"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("Not explained by rounding"));
  const Finished again = run({"-csv_path", only_file(out(), "accuracy_checking_result_"), "--summary"});
  EXPECT_THAT(again.out, HasSubstr("Not explained by rounding"));
  check_parts(input, {1, 2}, 2);
  EXPECT_THAT(merge().out, HasSubstr("Not explained by rounding"));
}

TEST_F(Shards, OfAnotherRecordingOrOtherOptionsAreRefused) {
  const Words input{"-api_info", dump("llama_bf16")};
  check_parts(input, {1}, 2);
  const auto refused = [&](const Words& other, const std::string& difference) {
    fs::remove_all(out());
    ASSERT_EQ(run(other + Words{"-o", out(), "--shard", "2/2"}).exit_code, 0);
    const Finished finished = run({"merge", parts(), out(), "-o", merged()});
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_THAT(finished.err, AllOf(HasSubstr("no part of the run of"), HasSubstr(difference)));
    EXPECT_FALSE(fs::exists(merged()));
  };
  refused({"-api_info", dump("llama_fp32")}, "the recording");
  refused(input + Words{"--except", "Functional.silu.0"}, "the recording, or what --only");
  refused(input + Words{"--seed", "7"}, "seed (7 there, 1234 here)");
  refused(input + Words{"--standard", "current"}, "standard");
  refused(input + Words{"--titles", "en"}, "how the CSVs are written");
}

TEST_F(Shards, RefuseWhatIsNoPart) {
  expect_refused({"merge"}, {"needs the journals"});
  expect_refused({"merge", scratch_ / "nowhere", "-o", merged()}, {"nowhere"});
  fs::create_directory(parts());
  write_file(parts() / "accuracy_checking_20260102030405.journal", "MSRUNJNL");
  expect_refused({"merge", parts(), "-o", merged()}, {"damaged"});
  write_file(parts() / "accuracy_checking_20260102030405.journal", "hello, world, this is text");
  expect_refused({"merge", parts(), "-o", merged()}, {"not a journal"});
}

// As a process leaves it that is killed between making its journal and writing to it.
TEST_F(Shards, ThatDiedAsTheyBeganAreNoHindrance) {
  check_parts({"-api_info", dump("llama_bf16")}, {1, 2}, 2);
  write_file(parts() / "accuracy_checking_20260102030405_node-a-1.journal", "");
  const Finished finished = merge();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("node-a-1.journal is empty: its process died as it began"));
  fs::remove(journal_of(1, 2));
  fs::remove(journal_of(2, 2));
  EXPECT_EQ(merge().exit_code, 2);
}

// Another version may compute or judge a call otherwise.
TEST_F(Shards, OfDifferentVersionsAreSaidToBe) {
  check_parts({"-api_info", dump("llama_bf16")}, {1, 2}, 2);
  EXPECT_THAT(merge().out, Not(HasSubstr("different versions")));
  const fs::path other = journal_of(2, 2);
  std::vector<std::string> records;
  const journal::Recovery recovery = journal::read(other, [&](std::string_view bytes) { records.emplace_back(bytes); });
  nlohmann::json metadata = nlohmann::json::parse(recovery.metadata);
  metadata["version"] = "0.0.1";
  fs::remove(other);
  journal::Writer writer = journal::Writer::create(other, metadata.dump());
  for (const std::string& record : records) writer.append(record);
  writer.close();
  const Finished finished = merge();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Parts are of different versions of msrun: 0.0.1 (1 journal), "));
}

TEST_F(Shards, AnythingElseAmongThemIsNamedWithTheWayToLeaveItOut) {
  check_parts({"-api_info", dump("llama_bf16")}, {1, 2}, 2);
  const fs::path odd = journal_of(1, 2).parent_path() / "odd.journal";
  write_file(odd, "not a journal");
  const Finished refused = merge();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(odd.string() + " is not a journal"),
                                 HasSubstr("to leave it out, name the other journals in place of their folder")));
}

// One host's disk is no reason to do without what all others have found.
TEST_F(Shards, OneWithADamagedHeaderIsNamedAndMissing) {
  check_parts({"-api_info", dump("llama_bf16")}, {1, 2}, 2);
  const fs::path cut = journal_of(2, 2);
  const std::string bytes = read_file(cut);
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}}) {
    write_file(cut, bytes.substr(0, size));
    const Finished finished = merge();
    EXPECT_EQ(finished.exit_code, 3) << finished.err;
    EXPECT_THAT(finished.out, AllOf(HasSubstr(cut.string() + " is damaged: it ends inside its header; what it held is "
                                                             "not in"),
                                    HasSubstr("There is no journal of part 2/2")));
  }
  write_file(cut, "\xFF" + bytes.substr(1));
  const Finished first_byte = merge();
  EXPECT_EQ(first_byte.exit_code, 3) << first_byte.err;
  EXPECT_THAT(first_byte.out, AllOf(HasSubstr(cut.string() + " is not a journal"), HasSubstr("of part 2/2")));
  write_file(cut, bytes.substr(0, 100));
  fs::remove(journal_of(1, 2));
  const Finished alone = merge();
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, AllOf(HasSubstr("nothing to merge"), HasSubstr("ends inside its header")));
}

TEST_F(Shards, AreContinuedLikeAnyRun) {
  const Words input{"-api_info", dump("llama_bf16")};
  ASSERT_EQ(run(input + Words{"-o", out()}).exit_code, 0);
  check_parts(input, {2}, 2);
  check_parts(input, {1}, 2);
  // As a death leaves it: some results, and a batch that is cut in two.
  int results = 0;
  rewrite(journal_of(1, 2), [&](ApiResult&) { return ++results < 20; });
  {
    std::ofstream tail(journal_of(1, 2), std::ios::app | std::ios::binary);
    tail << "\xF7\x4A\x46\x8B torn";
  }
  Finished finished = merge();
  EXPECT_EQ(finished.exit_code, 3);
  const std::string csv = only_file(parts(), "accuracy_checking_result_" + journal_of(1, 2).stem().string().substr(18));
  EXPECT_THAT(finished.out, AllOf(HasSubstr("9 bytes at the end are torn"), HasSubstr("Part 1/2 has 19 of"),
                                  HasSubstr("-csv_path " + csv)));
  finished = run({"-csv_path", csv});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("part 1 of 2"));
  EXPECT_EQ(merge().exit_code, 0);
  expect_same_csvs(out(), merged());
  // A part is not continued as another one.
  finished = run({"-csv_path", csv, "--shard", "2/2"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr(R"(shard ("1/2" then, "2/2" now))"));
}

TEST_F(Shards, TellHostAndDevice) {
  const Words input{"-api_info", dump("llama_bf16")};
  const auto on_host = [&](const std::string& host, const std::string& number) {
    const Finished finished = msrun(input + Words{"-o", parts(), "--shard", "env", "-d", number}, scratch_.path(),
                                    {"SLURMD_NODENAME=" + host, "SLURM_PROCID=" + number, "SLURM_NTASKS=2"});
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("SLURM_PROCID=" + number));
  };
  on_host("left", "0");
  on_host("right", "1");
  EXPECT_THAT(merge().out, AllOf(HasSubstr("1/2   left   sim 0"), HasSubstr("2/2   right  sim 1")));
  EXPECT_THAT(run({"journal", journal_of(2, 2)}).out, HasSubstr("2/2, 4"));
  EXPECT_THAT(run({"journal", merged()}).out, HasSubstr("shard2of2.journal (2/2, right, sim 1)"));
}

}  // namespace
}  // namespace msrun::testing
