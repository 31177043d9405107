// Calls dealt to parts of a run: complete, disjoint, balanced, the same every time.
#include "orchestrator/plan/dealing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace msrun {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Lt;

class Dealing : public ::testing::Test {
 protected:
  const PlanView& with_costs(const std::vector<float>& costs) {
    records_.assign(costs.size(), {});
    for (std::size_t i = 0; i < costs.size(); ++i) records_[i].cost = costs[i];
    view_.tasks = records_;
    return view_;
  }

  std::vector<PlanRecord> records_;
  PlanView view_;
};

TEST_F(Dealing, GoesByFallingCostToThePartThatHasLeast) {
  // 9 -> 0, 8 -> 1, 5 -> 1 would be 13, so 0 has 9, 1 has 8: 5 goes to 1, then 4 to 0, then 3 to both equal: the first.
  EXPECT_THAT(deal(with_costs({5, 9, 3, 8, 4}), 2), ElementsAre(1, 0, 0, 1, 0));
  EXPECT_THAT(deal(with_costs({7, 7, 7, 7}), 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(deal(with_costs({1, 2, 3}), 1), ElementsAre(0, 0, 0));
}

TEST_F(Dealing, SpreadsCallsThatCostNothingAndThoseThatAreNotRun) {
  const std::vector<std::uint32_t> free = deal(with_costs(std::vector<float>(100, 0)), 4);
  for (std::uint32_t part = 0; part < 4; ++part) EXPECT_EQ(std::ranges::count(free, part), 25);
  with_costs(std::vector<float>(8, 1e12F));
  for (PlanRecord& record : records_) record.skip_size = 3;
  EXPECT_THAT(deal(view_, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(Dealing, LeavesPartsEmptyWhereThereAreMoreThanCalls) {
  EXPECT_THAT(deal(with_costs({3, 2}), 5), ElementsAre(0, 1));
  EXPECT_THAT(deal(with_costs({}), 3), ElementsAre());
}

TEST_F(Dealing, TakesAbsurdCosts) {
  const std::vector<std::uint32_t> parts = deal(with_costs({1e30F, 1e30F, INFINITY, NAN, -1, 5}), 3);
  EXPECT_THAT(parts, Each(Lt(3U)));
}

TEST_F(Dealing, IsBalancedAndTheSameEveryTime) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> costs(1 + random() % 2000);
    for (float& cost : costs) cost = std::exp2(std::uniform_real_distribution<float>(10, 30)(random));
    const std::uint32_t of = 1 + random() % 40;
    const std::vector<std::uint32_t> parts = deal(with_costs(costs), of);
    ASSERT_EQ(parts, deal(view_, of));
    ASSERT_EQ(parts.size(), costs.size());
    std::vector<double> loads(of);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ASSERT_LT(parts[i], of);
      loads[parts[i]] += static_cast<double>(costs[i]);
    }
    const double largest = *std::ranges::max_element(costs);
    EXPECT_LE(*std::ranges::max_element(loads) - *std::ranges::min_element(loads), largest * 1.0001)
        << costs.size() << " calls, " << of << " parts";
  }
}

}  // namespace
}  // namespace msrun
