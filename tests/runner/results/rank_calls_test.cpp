// What a file may say of the calls of a rank.
#include "runner/results/rank_calls.h"

#include <gtest/gtest.h>

namespace msrun {
namespace {

TEST(RankCalls, AreWithinTheTasksAndNoMoreThanARecordingHas) {
  RankCalls calls;
  calls.runs = {{0, 5}, {3, 2}, {0, 5}};
  EXPECT_TRUE(calls.is_within(5)) << "a rank may have recorded a call several times";
  EXPECT_FALSE(calls.is_within(4));
  // Each run lies within the tasks. All together would take hours to be visited.
  calls.runs.assign(100'000, {0, 10'000'000});
  EXPECT_FALSE(calls.is_within(10'000'000));
}

}  // namespace
}  // namespace msrun
