// Patterns of --only and --except, and what is said of those that mean no call.
#include "orchestrator/plan/call_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace msrun {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<std::string> calls{"Torch.matmul.0",    "Torch.matmul.1",      "Tensor.matmul.0",
                                     "Functional.silu.0", "Torch.exp.0",         "Functional.conv2d.0",
                                     "Torch.exp2.0",      "Torch.linalg.norm.0", "Tensor.__add__.0"};

struct Selection {
  std::vector<std::string> wanted;
  std::vector<std::string> warnings;
  std::string refusal;
};

Selection select(const std::vector<std::string>& only, const std::vector<std::string>& except = {}) {
  CallFilter filter(only, except);
  Selection result;
  for (const std::string& call : calls) {
    if (filter.is_wanted(call)) result.wanted.push_back(call);
  }
  result.warnings = filter.warnings();
  if (result.wanted.empty()) result.refusal = filter.refusal();
  return result;
}

std::string refusal(const std::string& pattern) { return select({pattern}).refusal; }

// As --last-failed makes them of a run that was stopped early.
TEST(CallFilter, LooksUpListsOfThousandsOfNames) {
  std::vector<std::string> only;
  for (int i = 0; i < 20'000; ++i) only.push_back("Torch.add." + std::to_string(i));
  only.insert(only.end(), {"Torch.mul.0.forward", "Torch.exp.[0]", "Torch.add.7"});
  CallFilter filter(only, {});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20'000; ++i) EXPECT_TRUE(filter.is_wanted("Torch.add." + std::to_string(i)));
  // 400 million comparisons would take half a minute.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_FALSE(filter.is_wanted("Torch.add"));
  EXPECT_FALSE(filter.is_wanted("Torch.add.20000"));
  EXPECT_THAT(filter.warnings(), ElementsAre(HasSubstr("Torch.mul.0.forward"), HasSubstr("'Torch.exp.[0]'")));
  EXPECT_TRUE(filter.is_wanted("Torch.mul.0"));
  EXPECT_TRUE(filter.is_wanted("Torch.exp.0"));
  EXPECT_THAT(filter.warnings(), IsEmpty());
}

TEST(CallFilter, PatternsStandForWholeNamesOfCallsOrEntries) {
  EXPECT_TRUE(matches_call("Torch.matmul.0", "Torch.matmul.0"));
  EXPECT_TRUE(matches_call("Torch.matmul.0.forward", "Torch.matmul.0"));
  EXPECT_TRUE(matches_call("Torch.*.backward", "Torch.matmul.0"));
  EXPECT_TRUE(matches_call("*.[01]", "Torch.matmul.0"));
  EXPECT_FALSE(matches_call("Torch.matmul", "Torch.matmul.0"));
  EXPECT_FALSE(matches_call("torch.matmul.*", "Torch.matmul.0"));
  EXPECT_FALSE(matches_call("Torch.matmul.0.forwards", "Torch.matmul.0"));
  EXPECT_FALSE(matches_call("*forward", "Torch.matmul.0"));
}

TEST(CallFilter, TakesWhatOnlyNamesAndLeavesOutWhatExceptNames) {
  EXPECT_EQ(select({}).wanted, calls);
  EXPECT_THAT(select({"Torch.matmul.*", "Torch.exp.0.backward"}).wanted,
              ElementsAre("Torch.matmul.0", "Torch.matmul.1", "Torch.exp.0"));
  EXPECT_THAT(select({"Torch.matmul.*"}, {"*.1"}).wanted, ElementsAre("Torch.matmul.0"));
  EXPECT_THAT(select({}, {"T*", "*.silu.0.forward"}).wanted, ElementsAre("Functional.conv2d.0"));
}

TEST(CallFilter, APatternThatMeetsNothingIsNamedWithTheNearest) {
  const std::string matmuls = "'Torch.matmul.*' (2 calls), 'Tensor.matmul.*' (1 call)";
  EXPECT_THAT(
      refusal("Torch.matmull*"),
      AllOf(
          HasSubstr("--only: no call matches 'Torch.matmull*'; the nearest among the calls to check: 'Torch.matmul.*'"),
          HasSubstr("A pattern stands for whole names of calls, such as Torch.matmul.0 or 'Torch.matmul.*', "
                    "upper and lower case told apart; several are separated by commas."),
          Not(HasSubstr("\n"))));
  EXPECT_THAT(refusal("matmul"), HasSubstr("matches matmul; the nearest among the calls to check: " + matmuls + "."));
  EXPECT_THAT(refusal("torch.matmul.*"), HasSubstr("among the calls to check: 'Torch.matmul.*' (2 calls)."));
  EXPECT_THAT(refusal("torch.matmul.0.forward"), HasSubstr("among the calls to check: 'Torch.matmul.*' (2 calls)."));
  EXPECT_THAT(refusal("Torch.matmul"), HasSubstr("among the calls to check: 'Torch.matmul.*' (2 calls)."));
  EXPECT_THAT(refusal("Torch.matmul.17"), HasSubstr("among the calls to check: 'Torch.matmul.*' (2 calls)"));
  // As rows of details and files of tensors are named.
  for (const char* part : {"Torch.matmul.0.forward.output.0", "Torch.matmul.1.backward.input.0.pt"})
    EXPECT_THAT(refusal(part), HasSubstr("among the calls to check: 'Torch.matmul.*' (2 calls)"));
  EXPECT_THAT(refusal("Functional.cov2d.0"), HasSubstr("among the calls to check: 'Functional.conv2d.*' (1 call)."));
  EXPECT_THAT(refusal("linalg.nrom"), HasSubstr("among the calls to check: 'Torch.linalg.norm.*' (1 call)."));
  // Nothing is near: what there is.
  EXPECT_THAT(refusal("A"), HasSubstr("matches A; the calls to check are of " + matmuls +
                                      ", 'Functional.silu.*' (1 call) and 5 "
                                      "other APIs."));
}

TEST(CallFilter, OnePatternOfSeveralIsAWarning) {
  const Selection some = select({"Torch.exp.*", "linear"}, {"Torch.expp.*"});
  EXPECT_THAT(some.wanted, ElementsAre("Torch.exp.0"));
  EXPECT_THAT(some.warnings, ElementsAre(HasSubstr("--only: no call matches linear;"),
                                         HasSubstr("--except: no call matches 'Torch.expp.*'")));
  EXPECT_THAT(select({"Torch.exp.*"}).warnings, IsEmpty());
}

TEST(CallFilter, ExceptMayLeaveNothing) {
  EXPECT_THAT(select({"Torch.exp.*"}, {"*"}).refusal, HasSubstr("--except leaves no call to check."));
  EXPECT_THAT(select({}, {"*.forward"}).refusal, HasSubstr("--except leaves no call to check."));
}

}  // namespace
}  // namespace msrun
