// The vectorised exp and tanh against the C library.
#include "kernels/numeric/exponential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "tests/support/units_of_last_place.h"

namespace msrun {
namespace {

template <class T>
class Exponential : public ::testing::Test {};
using Widths = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Exponential, Widths);

TYPED_TEST(Exponential, IsExactToAboutOneUnitOfTheLastPlace) {
  using T = TypeParam;
  std::mt19937_64 random(1234);
  const double low = std::is_same_v<T, float> ? -110 : -750;
  const double high = std::is_same_v<T, float> ? 88.7 : 709.7;
  const double limit = std::is_same_v<T, float> ? 0.6 : 1.1;
  for (int i = 0; i < 200000; ++i) {
    const T wide = static_cast<T>(std::uniform_real_distribution<double>(low, high)(random));
    const T narrow = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(random));
    for (const T x : {wide, narrow}) {
      const long double exact = std::exp(static_cast<long double>(x));
      ASSERT_LT(units_of_last_place(exponential(x), exact), limit) << "exp of " << x;
    }
  }
}

TYPED_TEST(Exponential, EndsOfTheRange) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  EXPECT_EQ(exponential(T{0}), T{1});
  EXPECT_EQ(exponential(-T{0}), T{1});
  EXPECT_EQ(exponential(Limits::infinity()), Limits::infinity());
  EXPECT_EQ(exponential(-Limits::infinity()), T{0});
  EXPECT_EQ(exponential(Limits::max()), Limits::infinity());
  EXPECT_EQ(exponential(Limits::lowest()), T{0});
  EXPECT_TRUE(std::isnan(exponential(Limits::quiet_NaN())));
  EXPECT_EQ(exponential(Limits::denorm_min()), T{1});
  const T largest = std::is_same_v<T, float> ? T{88.7228F} : static_cast<T>(709.782712893384);
  EXPECT_TRUE(std::isfinite(exponential(largest)));
  EXPECT_EQ(exponential(largest * static_cast<T>(1.00001)), Limits::infinity());
}

TYPED_TEST(Exponential, HyperbolicTangent) {
  using T = TypeParam;
  std::mt19937_64 random(4321);
  for (int i = 0; i < 100000; ++i) {
    const double size = std::exp(std::uniform_real_distribution<double>(-60, 4)(random));
    const T x = static_cast<T>(i % 2 == 0 ? size : -size);
    const double limit = std::is_same_v<T, float> ? 1.0 : 2.0;  // the C library's bound for double
    ASSERT_LT(units_of_last_place(hyperbolic_tangent(x), std::tanh(static_cast<long double>(x))), limit)
        << "tanh of " << x;
  }
  EXPECT_TRUE(std::signbit(hyperbolic_tangent(-T{0})));
  EXPECT_EQ(hyperbolic_tangent(std::numeric_limits<T>::infinity()), T{1});
  EXPECT_EQ(hyperbolic_tangent(-std::numeric_limits<T>::infinity()), T{-1});
  EXPECT_TRUE(std::isnan(hyperbolic_tangent(std::numeric_limits<T>::quiet_NaN())));
}

}  // namespace
}  // namespace msrun
