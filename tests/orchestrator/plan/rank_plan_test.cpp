// The plan of several ranks: which calls count as one, whose data they have, which ranks are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "kernels/base/error.h"
#include "orchestrator/plan/plan.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string tensor(const std::string& shape, const std::string& dtype = "float32", double max = 1) {
  return R"({"type":"torch.Tensor","dtype":"torch.)" + dtype + R"(","shape":)" + shape + R"(,"Max":)" +
         std::to_string(max) + R"(,"Min":0,"Mean":0.5,"Norm":1,"requires_grad":true})";
}
std::string call(const std::string& name, const std::string& args, const std::string& kwargs = "") {
  return '"' + name + R"(.forward":{"input_args":[)" + args + R"(],"input_kwargs":{)" + kwargs + R"(},"output":[]})";
}
std::string backward(const std::string& name, const std::string& gradients) {
  return '"' + name + R"(.backward":{"input":[)" + gradients + R"(],"output":[]})";
}
std::string integer(int value) { return R"({"type":"int","value":)" + std::to_string(value) + "}"; }

class RankPlan : public ::testing::Test {
 protected:
  RankPlan() {
    options_.refusal = [](const Dialect& /*dialect*/, const std::string& name) {
      return Refusal{name.starts_with("Distributed.") ? "API " + name + " not support for acc_check. SKIP." : ""};
    };
  }

  void rank(const std::string& name, const std::string& data, const std::string& head = R"("framework":"pytorch",)") {
    std::filesystem::create_directories(directory_ / name);
    directory_.write(name + "/dump.json", "{" + head + R"("dump_data_dir":null,"data":{)" + data + "}}");
  }
  Plan plan() {
    files_ = find_rank_files(directory_.path().string()).files;
    return Plan::read_ranks(directory_.path().string(), files_, options_);
  }
  std::string refusal() {
    return testing::error_of<UserError>([&] { plan(); });
  }
  // How many calls are checked for two ranks that have recorded this.
  std::size_t checked(const std::string& first, const std::string& second) {
    rank("rank0", first);
    rank("rank1", second);
    return plan().size();
  }

  static std::vector<std::string> titles(const Plan& plan) {
    std::vector<std::string> result;
    for (std::uint32_t task = 0; task < plan.size(); ++task) result.emplace_back(plan.view().title(task));
    return result;
  }
  // Of each call of a rank its name, and behind an arrow whose result it has.
  static std::vector<std::string> calls(const Plan& plan, std::size_t rank) {
    std::vector<std::string> result;
    plan.ranks()[rank].calls.for_each([&](std::uint32_t task, const std::string* name) {
      const std::string title(plan.view().title(task));
      result.push_back((name != nullptr ? *name : std::string(without_rank(title))) + " <- " + title);
    });
    return result;
  }

  testing::TemporaryDirectory directory_;
  std::vector<RankFile> files_;
  PlanOptions options_;
};

TEST_F(RankPlan, ACallOfSeveralRanksIsCheckedOnceWithTheDataOfTheFirst) {
  rank("step0/rank0", call("Torch.exp.0", tensor("[2]")) + "," + call("Torch.log.0", tensor("[3]")));
  rank("step0/rank1", call("Torch.exp.0", tensor("[2]", "float32", 9)) + "," + call("Torch.cos.0", tensor("[3]")));
  rank("step1/rank0", call("Torch.cos.7", tensor("[3]")) + "," + call("Torch.log.0", tensor("[3]")));
  const Plan result = plan();
  EXPECT_THAT(titles(result),
              ElementsAre("step0/rank0:Torch.exp.0", "step0/rank0:Torch.log.0", "step0/rank1:Torch.cos.0"));
  ASSERT_EQ(result.ranks().size(), 3U);
  EXPECT_THAT(calls(result, 0),
              ElementsAre("Torch.exp.0 <- step0/rank0:Torch.exp.0", "Torch.log.0 <- step0/rank0:Torch.log.0"));
  EXPECT_THAT(calls(result, 1),
              ElementsAre("Torch.exp.0 <- step0/rank0:Torch.exp.0", "Torch.cos.0 <- step0/rank1:Torch.cos.0"));
  EXPECT_THAT(calls(result, 2),
              ElementsAre("Torch.cos.7 <- step0/rank1:Torch.cos.0", "Torch.log.0 <- step0/rank0:Torch.log.0"));
  EXPECT_EQ(result.ranks()[0].own, 2U);
  EXPECT_EQ(result.ranks()[1].own, 1U);
  EXPECT_EQ(result.ranks()[2].own, 0U);
  EXPECT_EQ(result.view().name(2), "Torch.cos.0");
  EXPECT_EQ(result.view().tasks[2].rank, 1U);
  EXPECT_GT(result.view().tasks[2].cost, 0);
  EXPECT_EQ(result.contents().calls, 6U);
}

TEST_F(RankPlan, NamesAndNumbersOfCallsSayNothing) {
  EXPECT_EQ(checked(call("Torch.exp.0", tensor("[2]")), call("Torch.exp.8", tensor("[2]"))), 1U);
}

TEST_F(RankPlan, AnotherApiShapeDtypeArgumentOrGradientIsAnotherCall) {
  const std::string first = call("Torch.add.0", tensor("[2]") + "," + integer(1), R"("alpha":)" + integer(2));
  const auto with = [&](const std::string& api, const std::string& args, const std::string& kwargs) {
    return checked(first, call(api, args, kwargs));
  };
  const std::string alpha = R"("alpha":)" + integer(2);
  EXPECT_EQ(with("Torch.add.0", tensor("[2]") + "," + integer(1), alpha), 1U);
  EXPECT_EQ(with("Torch.sub.0", tensor("[2]") + "," + integer(1), alpha), 2U);
  EXPECT_EQ(with("Tensor.add.0", tensor("[2]") + "," + integer(1), alpha), 2U);
  EXPECT_EQ(with("Torch.add.0", tensor("[2, 1]") + "," + integer(1), alpha), 2U);
  EXPECT_EQ(with("Torch.add.0", tensor("[2]", "float16") + "," + integer(1), alpha), 2U);
  EXPECT_EQ(with("Torch.add.0", tensor("[2]") + "," + integer(3), alpha), 2U);
  EXPECT_EQ(with("Torch.add.0", tensor("[2]") + "," + integer(1), R"("alpha":)" + integer(4)), 2U);
  EXPECT_EQ(with("Torch.add.0", tensor("[2]") + "," + integer(1), R"("beta":)" + integer(2)), 2U);
  // A value that would be there anyway is not seen through.
  EXPECT_EQ(with("Torch.add.0", tensor("[2]") + "," + integer(1), ""), 2U);
  EXPECT_EQ(with("Torch.add.0", tensor("[2]") + "," + integer(1) + "," + integer(2), ""), 2U);

  const std::string exp = call("Torch.exp.0", tensor("[2]"));
  const auto gradient = [&](const std::string& of) { return exp + "," + backward("Torch.exp.0", of); };
  EXPECT_EQ(checked(gradient(tensor("[2]")), gradient(tensor("[2]", "float32", 5))), 1U);
  EXPECT_EQ(checked(gradient(tensor("[2]")), exp), 2U);
  EXPECT_EQ(checked(gradient(tensor("[2]")), gradient(tensor("[2]", "float64"))), 2U);
}

TEST_F(RankPlan, TheOrderOfKeywordArgumentsSaysNothing) {
  const std::string a = R"("alpha":)" + integer(2);
  const std::string b = R"("beta":)" + integer(3);
  EXPECT_EQ(
      checked(call("Torch.addmm.0", tensor("[2]"), a + "," + b), call("Torch.addmm.0", tensor("[2]"), b + "," + a)),
      1U);
}

TEST_F(RankPlan, StatisticsCountWhereTheyAreAskedForAndOffSharesNothing) {
  const std::string first = call("Torch.exp.0", tensor("[2]", "float32", 1));
  const std::string second = call("Torch.exp.0", tensor("[2]", "float32", 2));
  EXPECT_EQ(checked(first, second), 1U);
  options_.across_ranks = AcrossRanks::values;
  EXPECT_EQ(checked(first, second), 2U);
  EXPECT_EQ(checked(first, first), 1U);
  const std::string gradient = "," + backward("Torch.exp.0", tensor("[2]", "float32", 3));
  EXPECT_EQ(checked(first + gradient, first + "," + backward("Torch.exp.0", tensor("[2]", "float32", 4))), 2U);
  options_.across_ranks = AcrossRanks::off;
  EXPECT_EQ(checked(first, first), 2U);
}

TEST_F(RankPlan, WhatARankRepeatsItChecksAsOftenAsItHasRecordedIt) {
  const auto twice = [](const std::string& first, const std::string& second) {
    return call(first, tensor("[2]")) + "," + call(second, tensor("[2]"));
  };
  rank("rank0", twice("Torch.exp.0", "Torch.exp.1"));
  rank("rank1", twice("Torch.exp.1", "Torch.exp.0") + "," + call("Torch.exp.2", tensor("[2]")));
  rank("rank2", twice("Torch.exp.5", "Torch.exp.1"));
  const Plan result = plan();
  EXPECT_THAT(titles(result), ElementsAre("rank0:Torch.exp.0", "rank0:Torch.exp.1", "rank1:Torch.exp.2"));
  EXPECT_THAT(calls(result, 1), ElementsAre("Torch.exp.1 <- rank0:Torch.exp.1", "Torch.exp.0 <- rank0:Torch.exp.0",
                                            "Torch.exp.2 <- rank1:Torch.exp.2"));
  // The call of the same name is not given away to one of another name in front of it.
  EXPECT_THAT(calls(result, 2), ElementsAre("Torch.exp.5 <- rank0:Torch.exp.0", "Torch.exp.1 <- rank0:Torch.exp.1"));
  options_.filter_duplicates = true;
  EXPECT_THAT(titles(plan()), ElementsAre("rank0:Torch.exp.0"));
}

TEST_F(RankPlan, RefusedCallsKeepTheReasonWithTheirName) {
  const Plan result = [&] {
    rank("rank0", call("Distributed.broadcast.0", tensor("[2]")));
    rank("rank1", call("Distributed.broadcast.0", tensor("[7]")));
    rank("rank2", call("Distributed.broadcast.1", tensor("[2]")));
    return plan();
  }();
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result.view().skip_reason(1), "API Distributed.broadcast.1 not support for acc_check. SKIP.");
}

TEST_F(RankPlan, PatternsMayBeOfARank) {
  const std::string both = call("Torch.exp.0", tensor("[2]")) + "," + call("Torch.cos.0", tensor("[2]"));
  for (const char* name : {"step0/rank0", "step0/rank3", "step1/rank3"}) rank(name, both);
  options_.across_ranks = AcrossRanks::off;
  options_.only = {"rank3:Torch.exp.*"};
  EXPECT_THAT(titles(plan()), ElementsAre("step0/rank3:Torch.exp.0", "step1/rank3:Torch.exp.0"));
  options_.only = {"step0/rank3:*", "step1:Torch.cos.0"};
  EXPECT_THAT(titles(plan()),
              ElementsAre("step0/rank3:Torch.exp.0", "step0/rank3:Torch.cos.0", "step1/rank3:Torch.cos.0"));
  options_.only = {"Torch.exp.0"};
  options_.except = {"step*/rank[1-9]:*"};
  const Plan first = plan();
  EXPECT_THAT(titles(first), ElementsAre("step0/rank0:Torch.exp.0"));
  EXPECT_EQ(first.ranks().size(), 1U);
  EXPECT_THAT(first.unmet_patterns(), IsEmpty());
  options_.except = {"rank7:*"};
  EXPECT_THAT(plan().unmet_patterns(),
              ElementsAre("--except: no rank matches rank7 of 'rank7:*'; the ranks are step0/rank0, step0/rank3, "
                          "step1/rank3."));
  options_.except = {};
  options_.only = {"rank0:Torch.expp.0"};
  EXPECT_THAT(plan().refusal(), HasSubstr("no call matches rank0:Torch.expp.0; the nearest among the calls to check: "
                                          "'Torch.exp.*' (1 call)"));
  options_.only = {"rank9:*"};
  EXPECT_THAT(refusal(), HasSubstr("--only: no rank matches rank9"));
}

// What a device does wrongly on one rank alone is found on that rank, and only there.
TEST_F(RankPlan, CallsThatTheDeviceTreatsOtherwiseOnARankAreItsOwn) {
  const std::string both = call("Torch.exp.0", tensor("[2]")) + "," + call("Torch.cos.0", tensor("[2]"));
  for (const char* name : {"step0/rank0", "step0/rank1", "step0/rank3", "step1/rank3"}) rank(name, both);
  options_.apart = {{"rank3", "Torch.exp.*"}};
  EXPECT_THAT(titles(plan()),
              ElementsAre("step0/rank0:Torch.exp.0", "step0/rank0:Torch.cos.0", "step0/rank3:Torch.exp.0"));
  options_.apart = {{"step1", "*"}, {"rank7", "*"}};
  EXPECT_THAT(titles(plan()), ElementsAre("step0/rank0:Torch.exp.0", "step0/rank0:Torch.cos.0",
                                          "step1/rank3:Torch.exp.0", "step1/rank3:Torch.cos.0"));
}

TEST_F(RankPlan, ABrokenRankIsRefusedWithAWayAroundIt) {
  rank("rank0", call("Torch.exp.0", tensor("[2]")));
  rank("rank1", call("Torch.exp.0", tensor("[2]")));
  directory_.write("rank1/dump.json", R"({"framework":"pytorch","data":{"Torch.exp.0.forward":)");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("rank1/dump.json"), HasSubstr(". To check the other ranks"),
                               HasSubstr("--except 'rank1:*'")));
  options_.except = {"rank1:*"};
  EXPECT_EQ(plan().size(), 1U);
  options_.except = {};
  options_.only = {"rank0:*"};
  EXPECT_EQ(plan().size(), 1U);
}

TEST_F(RankPlan, RanksOfDifferentFrameworksAreRefusedAndEmptyOnesAreNoRanksOfAny) {
  rank("rank0", "");
  rank("rank1", call("Torch.exp.0", tensor("[2]")));
  rank("rank2", "", "");
  const Plan result = plan();
  EXPECT_EQ(result.size(), 1U);
  EXPECT_EQ(result.ranks().size(), 3U);
  ASSERT_EQ(result.warnings().size(), 2U);
  EXPECT_THAT(result.warnings()[0], HasSubstr("rank0/dump.json has no call to check."));
  rank("rank2", call("Functional.relu.0", ""), R"("framework":"mindspore","task":"statistics",)");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("different frameworks"), HasSubstr("rank1/dump.json is of pytorch"),
                               HasSubstr("rank2/dump.json of mindspore")));
}

TEST_F(RankPlan, RealDataIsEachRanksOwn) {
  rank("rank0", call("Torch.exp.0", tensor("[2]")), R"("framework":"pytorch","task":"tensor",)");
  rank("rank1", call("Torch.exp.0", tensor("[2]")));
  for (const char* name : {"rank0", "rank1"}) {
    std::string text = testing::read_file(directory_ / name / "dump.json");
    text.replace(text.find("null"), 4, R"("/somewhere")");
    directory_.write(std::string(name) + "/dump.json", text);
  }
  const Plan result = plan();
  EXPECT_EQ(result.size(), 2U);
  EXPECT_TRUE(result.real_data());
  EXPECT_NE(result.ranks()[0].tensor_folder.path, result.ranks()[1].tensor_folder.path);
}

TEST_F(RankPlan, ThePlanDoesNotDependOnThreadsAndKnowsEveryChange) {
  for (int i = 0; i < 20; ++i) {
    rank("rank" + std::to_string(i), call("Torch.exp." + std::to_string(i % 3), tensor("[2]")) + "," +
                                         call("Torch.cos.0", tensor("[" + std::to_string(1 + i % 7) + "]")));
  }
  const Plan first = plan();
  for (int repeat = 0; repeat < 5; ++repeat) {
    const Plan again = plan();
    ASSERT_EQ(titles(again), titles(first));
    EXPECT_EQ(again.fingerprint(), first.fingerprint());
    for (std::size_t i = 0; i < 20; ++i) EXPECT_TRUE(again.ranks()[i].calls.same_calls(first.ranks()[i].calls));
  }
  const std::uint64_t before = first.ranks()[19].fingerprint;
  rank("rank19", call("Torch.exp.1", tensor("[2]", "float32", 3)) + "," + call("Torch.cos.0", tensor("[6]")));
  const Plan changed = plan();
  EXPECT_NE(changed.ranks()[19].fingerprint, before);
  EXPECT_EQ(changed.ranks()[18].fingerprint, first.ranks()[18].fingerprint);
  EXPECT_NE(changed.fingerprint(), first.fingerprint());
}

TEST(RankFiles, AreFoundInTheOrderOfTheirNumbers) {
  const testing::TemporaryDirectory folder;
  for (const char* name : {"step10/rank2", "step2/rank10", "step2/rank9", "step2/rank9/below", "a:b", "step2/empty",
                           "1/2/3/4/5/6/7/8/9"}) {
    std::filesystem::create_directories(folder / name);
    if (!std::string_view(name).ends_with("empty")) folder.write(std::string(name) + "/dump.json", "{}");
  }
  std::filesystem::create_directory_symlink(folder.path(), folder / "step2/loop");
  std::filesystem::create_directory_symlink(folder / "step10", folder / "zz");
  const RankFiles found = find_rank_files(folder.path().string());
  std::vector<std::string> ranks;
  for (const RankFile& file : found.files) ranks.push_back(file.rank);
  EXPECT_THAT(ranks, ElementsAre("a_b", "step2/rank9", "step2/rank10", "step10/rank2"));
  ASSERT_EQ(found.warnings.size(), 3U);
  EXPECT_THAT(found.warnings[0], AllOf(HasSubstr("more than 8 levels down"), HasSubstr("1/2/3/4/5/6/7/8/9")));
  EXPECT_THAT(found.warnings[1], AllOf(HasSubstr("links lead to once more"), HasSubstr(": 2, the first is ")));
  EXPECT_THAT(found.warnings[2], HasSubstr("there is no dump.json of 3 ranks, the first is step2/rank2."));
  // Two that would have one name.
  std::filesystem::create_directories(folder / "a_b");
  folder.write("a_b/dump.json", "{}");
  EXPECT_THAT(testing::error_of<UserError>([&] { find_rank_files(folder.path().string()); }), HasSubstr("called a_b"));
}

TEST(RankFiles, SayWhichRanksHaveNoRecording) {
  const testing::TemporaryDirectory folder;
  for (const char* name : {"step0/rank0", "step0/rank2", "step0/rank4", "step1/rank0", "step1/rank2", "step1/rank4"}) {
    std::filesystem::create_directories(folder / name);
    folder.write(std::string(name) + "/dump.json", "{}");
  }
  const auto warnings = [&] { return find_rank_files(folder.path().string()).warnings; };
  // Numbers that no step has were not to be recorded.
  EXPECT_THAT(warnings(), IsEmpty());
  std::filesystem::create_directories(folder / "step0/rank10/dump_tensor_data");
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("there is no dump.json of 1 rank, step0/rank10.")));
  std::filesystem::remove(folder / "step1/rank4/dump.json");
  std::filesystem::remove_all(folder / "step0/rank0");
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("there is no dump.json of 3 ranks, the first is step0/rank0.")));
}

// Its calls are not reported, which nobody should overlook.
TEST(RankFiles, SayWhichRanksAreLinksToOthers) {
  const testing::TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "step0/rank0");
  folder.write("step0/rank0/dump.json", "{}");
  std::filesystem::create_directory_symlink("rank0", folder / "step0/rank1");
  const RankFiles found = find_rank_files(folder.path().string());
  EXPECT_EQ(found.files.size(), 1U);
  EXPECT_THAT(found.warnings, ElementsAre(AllOf(HasSubstr("folders of ranks that are links to those of others"),
                                                HasSubstr("step0/rank1"))));
}

// A name that stands in a pattern means itself.
TEST(RankFiles, HaveNamesWithoutWhatPatternsMeanOtherwise) {
  const testing::TemporaryDirectory folder;
  for (const char* name : {"*", "a,b", "[x]", "c?d", "e\\f", "plain"}) {
    std::filesystem::create_directories(folder / name);
    folder.write(std::string(name) + "/dump.json", "{}");
  }
  std::vector<std::string> ranks;
  for (const RankFile& file : find_rank_files(folder.path().string()).files) ranks.push_back(file.rank);
  EXPECT_THAT(ranks, ::testing::UnorderedElementsAre("_", "a_b", "_x_", "c_d", "e_f", "plain"));
}

}  // namespace
}  // namespace msrun
