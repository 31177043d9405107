// Inputs that are changed a little: by how much, and what stays.
#include "kernels/compare/bounds/varied_numbers.h"

#include <gmock/gmock.h>

#include <limits>
#include <vector>

namespace msrun {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr double change = 0x1p-10;

TEST(VariedNumbers, MoveByTheirShares) {
  std::vector<double> values{3, -5, 0.25};
  const std::vector<double> shares{1, -1, 0.5};
  move_by_shares(values, change, shares.data());
  EXPECT_THAT(values, ElementsAre(3 * (1 + change), -5 * (1 - change), 0.25 * (1 + change / 2)));
}

TEST(VariedNumbers, StayWhereTheyMayBeFlagsOrAreNotFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> flags{0, 1, -1, 2, -2, infinity, -infinity};
  const std::vector<double> shares(flags.size(), 1);
  std::vector<double> values = flags;
  move_by_shares(values, change, shares.data());
  EXPECT_EQ(values, flags);
  values = flags;
  const std::uint32_t words = 0x5;
  move_by_signs(values, &words, {1 - change, 1 + change}, {});
  EXPECT_EQ(values, flags);
}

// 0.9999 times 1 + change is beyond 1, where a probability has no logarithm of what is left of it.
TEST(VariedNumbers, DoNotCrossOne) {
  std::vector<double> values{0.9999, -0.9999, 1.0001, -1.0001};
  const std::vector<double> shares{1, 1, -1, -1};
  move_by_shares(values, change, shares.data());
  EXPECT_THAT(values, ElementsAre(0.9999 * (1 - change), -0.9999 * (1 - change), 1.0001 * (1 + change),
                                  -1.0001 * (1 + change)));
  values = {0.9999, 1.0001};
  const std::uint32_t words = 0x1;
  move_by_signs(values, &words, {1 - change, 1 + change}, {});
  EXPECT_THAT(values, ElementsAre(0.9999 * (1 - change), 1.0001 * (1 + change)));
}

TEST(VariedNumbers, TakeTheirSignsFromTheBitsOfWords) {
  std::vector<double> values(70, 3);
  values[2] = -3;
  const std::vector<std::uint32_t> words{0x5, 0x0, 0x20};
  move_by_signs(values, words.data(), {1 - change, 1 + change}, {});
  std::vector<double> expected(70, 3 * (1 - change));
  expected[0] = expected[69] = 3 * (1 + change);
  expected[2] = -3 * (1 + change);
  EXPECT_EQ(values, expected);
}

TEST(VariedNumbers, StayAtKinks) {
  std::vector<double> values(40, 6);
  values[1] = -6;
  values[33] = 5;
  const std::vector<std::uint32_t> words{0, 0};
  move_by_signs(values, words.data(), {1 - change, 1 + change}, std::vector<double>{0.5, 6});
  EXPECT_EQ(values[33], 5 * (1 - change));
  values[33] = 6;
  values[1] = 6;
  EXPECT_THAT(values, Each(6));
}

TEST(VariedNumbers, OfEqualMagnitudesMoveAlike) {
  const std::vector<double> values{3, -3, 4, 3};
  std::vector<double> shares(4);
  shares_of_magnitudes(values, 7, shares.data());
  EXPECT_EQ(shares[0], shares[1]);
  EXPECT_EQ(shares[0], shares[3]);
  EXPECT_NE(shares[0], shares[2]);
  std::vector<double> others(4);
  shares_of_magnitudes(values, 8, others.data());
  EXPECT_NE(shares[0], others[0]);
}

TEST(VariedNumbers, SharesAreSpreadEvenly) {
  std::vector<double> values;
  for (int i = 1; i <= 1000; ++i) values.push_back(i);
  std::vector<double> shares(values.size());
  shares_of_magnitudes(values, 1, shares.data());
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    EXPECT_TRUE(share >= -1 && share < 1);
    sum += share;
    squares += share * share;
  }
  EXPECT_NEAR(sum / 1000, 0, 0.06);
  EXPECT_NEAR(squares / 1000, 1.0 / 3, 0.04);
}

}  // namespace
}  // namespace msrun
