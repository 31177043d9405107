// Which calls run again after a death, how often and with whom.
#include "orchestrator/supervise/retries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Retries, TheLastAttemptIsAlone) {
  Retries retries(2, {});
  EXPECT_FALSE(retries.any_waiting());
  EXPECT_TRUE(retries.died(4, true));
  Retries::Batch batch = retries.next();
  EXPECT_THAT(batch.tasks, ElementsAre(4));
  EXPECT_FALSE(batch.alone);
  EXPECT_TRUE(retries.died(4, true));
  batch = retries.next();
  EXPECT_THAT(batch.tasks, ElementsAre(4));
  EXPECT_TRUE(batch.alone);
  EXPECT_FALSE(retries.died(4, true));
  EXPECT_EQ(retries.attempts(4), 3U);
  EXPECT_FALSE(retries.any_waiting());
  EXPECT_THAT(retries.next().tasks, IsEmpty());
}

TEST(Retries, WhoIsNotToBlameRunsAgainHoweverOften) {
  Retries retries(1, {});
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(retries.died(3, false));
    const Retries::Batch batch = retries.next();
    EXPECT_THAT(batch.tasks, ElementsAre(3));
    EXPECT_FALSE(batch.alone);
  }
  EXPECT_EQ(retries.attempts(3), 0U);
}

TEST(Retries, NoneAreAllowed) {
  Retries retries(0, {});
  EXPECT_TRUE(retries.died(1, false));
  EXPECT_FALSE(retries.died(2, true));
  EXPECT_THAT(retries.next().tasks, ElementsAre(1));
}

TEST(Retries, OneThatRunsAloneGoesFirst) {
  Retries retries(1, {});
  retries.died(1, false);
  retries.died(2, true);
  retries.died(3, false);
  Retries::Batch batch = retries.next();
  EXPECT_THAT(batch.tasks, ElementsAre(2));
  EXPECT_TRUE(batch.alone);
  EXPECT_THAT(retries.next().tasks, ElementsAre(1, 3));
}

TEST(Retries, WhatIsTakenBackWaitsOnce) {
  Retries retries(1, {});
  retries.died(1, false);
  retries.died(2, true);
  retries.take_back(1);
  retries.take_back(2);
  retries.take_back(5);
  EXPECT_THAT(retries.next().tasks, ElementsAre(2));
  EXPECT_THAT(retries.next().tasks, ElementsAre(1, 5));
  EXPECT_FALSE(retries.any_waiting());
}

TEST(Retries, TheLastAttemptStaysAloneIfItComesToNothing) {
  Retries retries(1, {});
  EXPECT_TRUE(retries.died(4, true));
  EXPECT_TRUE(retries.next().alone);
  EXPECT_TRUE(retries.died(4, false));
  EXPECT_TRUE(retries.next().alone);
  retries.take_back(4);
  EXPECT_TRUE(retries.is_waiting(4));
  EXPECT_TRUE(retries.next().alone);
  EXPECT_FALSE(retries.is_waiting(4));
  EXPECT_FALSE(retries.died(4, true));
}

TEST(Retries, ACallIsNotToBlameForBeingStoppedUnlessThereIsNoEndToIt) {
  Retries retries(1, {});
  int stops = 0;
  while (!retries.stopped_too_often(3)) ASSERT_LT(++stops, 100);
  EXPECT_EQ(stops, 10);
  EXPECT_FALSE(retries.stopped_too_often(2));
}

TEST(Retries, SuspectsOfEarlierRunsComeLastOneByOne) {
  Retries retries(2, {7, 2});
  EXPECT_FALSE(retries.any_waiting());
  ASSERT_TRUE(retries.any_last());
  EXPECT_EQ(retries.next_last(), 7U);
  retries.release_last();
  const Retries::Batch batch = retries.next();
  EXPECT_THAT(batch.tasks, ElementsAre(7));
  EXPECT_TRUE(batch.alone);
  EXPECT_EQ(retries.next_last(), 2U);
  retries.release_last();
  EXPECT_FALSE(retries.any_last());
}

// Also one that dies, is taken back, or is wanted later.
TEST(Retries, ASuspectNeverRunsBesideOthers) {
  Retries retries(2, {7}, {7, 17});
  retries.release_last();
  EXPECT_THAT(retries.next().tasks, ElementsAre(7));
  EXPECT_TRUE(retries.died(7, true));
  EXPECT_FALSE(retries.any_waiting());
  ASSERT_TRUE(retries.any_last());
  EXPECT_EQ(retries.next_last(), 7U);
  retries.release_last();
  retries.take_back(7);
  retries.next();
  EXPECT_FALSE(retries.any_last());
  retries.take_back(17);
  retries.take_back(17);
  EXPECT_EQ(retries.next_last(), 17U);
  retries.release_last();
  EXPECT_FALSE(retries.any_last());
}

}  // namespace
}  // namespace msrun
