// Patterns for calls that are asked for one by one: what they mean, and how many there are.
#include "orchestrator/session/call_patterns.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "orchestrator/plan/call_filter.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

bool means(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches_call(pattern, name); });
}

TEST(CallPatterns, NameEachCallUnlessThatIsMuch) {
  EXPECT_THAT(patterns_of({"Torch.mul.0", "Torch.mul.1"}), ElementsAre("Torch.mul.0", "Torch.mul.1"));
  EXPECT_THAT(patterns_of({"Torch.mul.0", "Torch.mul.1", "Torch.mul.2", "Torch.add.7", "odd", "Torch.a,*.3"}, 0),
              UnorderedElementsAre("Torch.mul.[0-2]", "Torch.add.7", "odd", "Torch.a[,][*].3"));
  EXPECT_THAT(patterns_of({"rank1:Torch.mul.9", "rank1:Torch.mul.10", "rank1:Torch.mul.12"}, 0),
              UnorderedElementsAre("rank1:Torch.mul.9", "rank1:Torch.mul.1[02]"));
}

TEST(CallPatterns, MeanTheseCallsAndNoOthers) {
  std::mt19937 generator(7);
  for (const int share : {1, 5, 9, 10}) {
    std::vector<std::string> names;
    std::vector<std::string> others;
    for (int i = 0; i < 1200; ++i) {
      (generator() % 10 < static_cast<unsigned>(share) ? names : others).push_back("Torch.mul." + std::to_string(i));
    }
    const std::vector<std::string> patterns = patterns_of(names, 0);
    EXPECT_LE(patterns.size(), names.size());
    for (const std::string& name : names) EXPECT_TRUE(means(patterns, name)) << name;
    for (const std::string& name : others) EXPECT_FALSE(means(patterns, name)) << name;
  }
}

// What a run leaves that was stopped early: nearly all calls of every API.
TEST(CallPatterns, OfLongRunsOfCallsAreFew) {
  std::vector<std::string> names;
  for (int api = 0; api < 20; ++api) {
    for (int i = 1234; i < 20000; ++i) names.push_back("Torch.api" + std::to_string(api) + "." + std::to_string(i));
  }
  EXPECT_LT(patterns_of(names).size(), 20U * 20U);
}

}  // namespace
}  // namespace msrun
