// The numbers next to a number, and which of them a seed takes.
#include "kernels/numeric/roughness.h"

#include <gtest/gtest.h>

#include <cmath>
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
  EXPECT_NEAR(up, 1000, 300);
  EXPECT_NEAR(down, 1000, 300);
  EXPECT_NEAR(beside, 1500, 300);
}

}  // namespace
}  // namespace msrun
