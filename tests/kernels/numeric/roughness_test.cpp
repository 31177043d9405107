// The numbers next to a number, and which of them a seed takes.
#include "kernels/numeric/roughness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace msrun {
namespace {

template <class T>
class Neighbours : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Neighbours, Reals);

TYPED_TEST(Neighbours, AreTheNextNumbers) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  constexpr T infinity = Limits::infinity();
  for (const T size : {Limits::denorm_min(), Limits::min(), T{1}, T{1.5}, T{3}, Limits::max()}) {
    for (const T value : {size, -size}) {
      EXPECT_EQ(next_to(value, true, false), std::nextafter(value, infinity)) << value;
      EXPECT_EQ(next_to(value, false, true), std::nextafter(value, -infinity)) << value;
      EXPECT_EQ(next_to(value, false, false), value);
    }
  }
  for (const T value : {T{0}, -T{0}, infinity, -infinity}) {
    EXPECT_EQ(next_to(value, true, false), value);
    EXPECT_EQ(std::signbit(next_to(value, false, true)), std::signbit(value));
  }
  EXPECT_TRUE(std::isnan(next_to(Limits::quiet_NaN(), true, false)));
}

TYPED_TEST(Neighbours, AreTakenByASeed) {
  using T = TypeParam;
  int up = 0;
  int down = 0;
  int beside = 0;
  for (int i = 1; i <= 3000; ++i) {
    const T value = static_cast<T>(i) / 7;
    const T moved = off_by_a_place(value, 5);
    up += moved > value ? 1 : 0;
    down += moved < value ? 1 : 0;
    beside += a_place_beside(value, 5) > value ? 1 : 0;
  }
  EXPECT_NEAR(up, 1000, 130);
  EXPECT_NEAR(down, 1000, 130);
  EXPECT_NEAR(beside, 1500, 140);
}

// Errors of steps that follow each other, which have seeds that follow each other, neither cancel nor add up, and have
// nothing in common, also where numbers have few digits, as those of half types.
TYPED_TEST(Neighbours, AreIndependentFromStepToStep) {
  using T = TypeParam;
  constexpr int count = 10'000;
  constexpr double deviations = 5;
  const double most = deviations * std::sqrt(count);
  for (std::uint32_t seed = 1; seed <= 16; ++seed) {
    for (const T digits : {T{7}, T{128}}) {
      int alike = 0;
      int outwards = 0;
      for (int i = 1; i <= count; ++i) {
        const T value = static_cast<T>(i % 2 == 0 ? i : -i) / digits;
        const T once = a_place_beside(value, seed);
        const T twice = a_place_beside(once, seed + 1);
        alike += (once > value) == (twice > once) ? 1 : -1;
        outwards += std::abs(once) > std::abs(value) ? 1 : -1;
      }
      EXPECT_LE(std::abs(alike), most) << seed << " " << digits;
      EXPECT_LE(std::abs(outwards), most) << seed << " " << digits;
    }
  }
}

}  // namespace
}  // namespace msrun
