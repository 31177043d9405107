// Parts of results: when a call has all that it needs, and what it still needs.
#include "orchestrator/output/joined_results.h"

#include <gmock/gmock.h>

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ResultPart part_of(std::uint32_t task, std::uint32_t part, std::uint64_t output) {
  ResultPart result{part, {}};
  result.result.task = task;
  result.result.name = "Torch.matmul." + std::to_string(task);
  result.result.device = static_cast<std::int32_t>(part % 3);
  result.result.forward = Status::pass;
  result.result.checksums.outputs = {output};
  return result;
}

// Ten calls on three devices: item p * 10 + t is part p of call t.
class Joining : public ::testing::Test {
 protected:
  JoinedResults results_{WorkItems(10, 3)};
};

TEST_F(Joining, ACallIsCompleteWithTheLastOfItsDevicesInAnyOrder) {
  EXPECT_THAT(results_.missing(4), ElementsAre(4, 14, 24));
  EXPECT_FALSE(results_.add(part_of(4, 2, 9)));
  EXPECT_FALSE(results_.add(part_of(4, 0, 9)));
  EXPECT_FALSE(results_.add(part_of(4, 0, 8))) << "a second one is dropped";
  EXPECT_THAT(results_.missing(4), ElementsAre(14));
  EXPECT_TRUE(results_.has(24));
  EXPECT_FALSE(results_.add(part_of(5, 1, 9))) << "another call";
  const std::optional<ApiResult> result = results_.add(part_of(4, 1, 9));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->task, 4U);
  EXPECT_EQ(result->agreement->verdict, Agreement::Verdict::same);
  EXPECT_FALSE(results_.has(24)) << "nothing of it is kept";
}

TEST_F(Joining, ACallWhoseDevicesAllDifferNeedsTheirChecks) {
  EXPECT_FALSE(results_.add(part_of(1, 0, 7)));
  EXPECT_FALSE(results_.add(part_of(1, 1, 8)));
  EXPECT_FALSE(results_.add(part_of(1, 2, 9)));
  EXPECT_THAT(results_.missing(1), ElementsAre(41, 51));
  EXPECT_FALSE(results_.add(part_of(1, 5, 9)));
  EXPECT_THAT(results_.missing(1), ElementsAre(41));
  const std::optional<ApiResult> result = results_.add(part_of(1, 4, 8));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->agreement->verdict, Agreement::Verdict::undecided);
}

TEST(Items, SpreadTheChecksOverTheDevices) {
  const WorkItems items(10, 3);
  for (std::uint32_t task = 0; task < 10; ++task) {
    std::vector<bool> seen(3);
    for (std::uint32_t part = 0; part < 6; ++part) {
      const std::uint32_t item = items.item(task, part);
      EXPECT_EQ(items.task(item), task);
      EXPECT_EQ(items.part(item), part);
      EXPECT_EQ(items.is_check(part), part == 0 || part >= 3);
      EXPECT_EQ(items.device(item), items.device(items.item(task, part % 3))) << "a check is where the run was";
      seen[items.device(item)] = true;
    }
    EXPECT_EQ(seen, std::vector<bool>(3, true));
    EXPECT_EQ(items.device(items.item(task, 0)), task % 3);
  }
  EXPECT_EQ(WorkItems().task(1234), 1234U);
}

}  // namespace
}  // namespace msrun
