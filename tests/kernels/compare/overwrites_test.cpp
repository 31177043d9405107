// Which of several values for one place stays is taken as the device chose, bit by bit.
#include "kernels/compare/choices/overwrites.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Numbers = std::vector<double>;

Writes writes_of(const Dims& shape, std::int64_t run, std::vector<std::int64_t> starts, const Tensor& values) {
  return {std::make_shared<const Selection>(Selection{shape, run, std::move(starts)}), values};
}

// The benchmark with the device's choice; what it was if there is none.
Numbers chosen(const Writes& writes, const Tensor& bench, const Tensor& device) {
  const auto choice = OverwriteChoice::find(writes, bench, device);
  return values(choice ? choice->applied(bench, writes) : bench);
}

TEST(OverwriteChoice, TakesWhatWasWrittenThere) {
  const Writes writes = writes_of({3}, 1, {1, 1, 2}, float64({3}, {7, 8, 9}));
  const Tensor bench = float64({4}, {1, 8, 9, 4});
  EXPECT_EQ(chosen(writes, bench, float64({4}, {1, 7, 9, 4})), (Numbers{1, 7, 9, 4}));
  EXPECT_EQ(chosen(writes, bench, float64({4}, {1, 9, 9, 4})), (Numbers{1, 8, 9, 4})) << "written to another place";
  EXPECT_EQ(chosen(writes, bench, float64({4}, {7, 8, 9, 7})), (Numbers{1, 8, 9, 4})) << "nothing is written there";
  EXPECT_FALSE(OverwriteChoice::find(writes, bench, bench).has_value());
  EXPECT_FALSE(OverwriteChoice::find(writes, bench, float64({2, 2}, {1, 7, 9, 4})).has_value());
}

// Rows that are written as a whole: each element by itself may be of another one.
TEST(OverwriteChoice, IsMadeForEachElement) {
  const Writes writes = writes_of({2, 2}, 2, {2, 2}, float64({2, 2}, {5, 6, 7, 8}));
  EXPECT_EQ(chosen(writes, float64({2, 2}, {1, 2, 7, 8}), float64({2, 2}, {1, 2, 5, 8})), (Numbers{1, 2, 5, 8}));
}

TEST(OverwriteChoice, ComparesInTheDtypeOfTheDevice) {
  const Writes writes = writes_of({2}, 1, {0, 0}, float64({2}, {0.1, 0.2}));
  const Tensor bench = float64({1}, {0.2});
  const Tensor tenth = float64({1}, {0.1}).to(DType::float32);
  EXPECT_EQ(chosen(writes, bench, tenth), Numbers{0.1}) << "the benchmark has all digits";
  const Tensor beside = float64({1}, {std::nextafter(tenth.data<float>()[0], 1.0F)}).to(DType::float32);
  EXPECT_EQ(chosen(writes, bench, beside), Numbers{0.2});
}

// One number for several places, or a row for several rows.
TEST(OverwriteChoice, BroadcastsValues) {
  const Writes writes = writes_of({2, 2}, 1, {0, 1, 1, 0}, float64({2}, {3, 4}));
  EXPECT_EQ(chosen(writes, float64({2}, {4, 3}), float64({2}, {3, 4})), (Numbers{3, 4}));
}

TEST(OverwriteChoice, IsMadeAgainInAnotherEvaluation) {
  const Writes writes = writes_of({2}, 1, {0, 0}, float64({2}, {1, 2}));
  const auto choice = OverwriteChoice::find(writes, float64({1}, {2}), float64({1}, {1}));
  ASSERT_TRUE(choice.has_value());
  const Writes changed = writes_of({2}, 1, {0, 0}, float64({2}, {1.5, 2.5}));
  EXPECT_EQ(values(choice->applied(float64({1}, {2.5}), changed)), Numbers{1.5});
  EXPECT_NE(choice->message().find("At 1 of 1 elements"), std::string::npos);
}

}  // namespace
}  // namespace msrun
