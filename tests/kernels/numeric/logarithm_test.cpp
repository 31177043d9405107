// The vectorised log, log1p, expm1 and erf against the C library's in long double.
#include "kernels/numeric/logarithm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/numeric/error_function.h"
#include "kernels/numeric/exponential.h"
#include "tests/support/units_of_last_place.h"

namespace msrun {
namespace {

// The largest error over arguments spread evenly between low and high, and over e^low to e^high in logarithmic steps.
template <class T, class F, class G>
double worst(F f, G exact, double low, double high, bool logarithmic) {
  std::mt19937_64 random(99);
  std::uniform_real_distribution<double> between(low, high);
  double error = 0;
  for (int i = 0; i < 200000; ++i) {
    const double value = between(random);
    const T x = static_cast<T>(logarithmic ? std::exp(value) : value);
    error = std::max(error, units_of_last_place(f(x), exact(static_cast<long double>(x))));
  }
  return error;
}

template <class T>
class Logarithm : public ::testing::Test {
 public:
  static constexpr bool narrow = std::is_same_v<T, float>;
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
};
using Widths = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Logarithm, Widths);

TYPED_TEST(Logarithm, OfPositiveNumbers) {
  using T = TypeParam;
  const auto f = [](T x) { return logarithm(x); };
  const auto exact = [](long double x) { return std::log(x); };
  const double limit = TestFixture::narrow ? 0.51 : 0.9;
  EXPECT_LT((worst<T>(f, exact, TestFixture::narrow ? -103 : -744, TestFixture::narrow ? 88 : 709, true)), limit);
  EXPECT_LT((worst<T>(f, exact, -1, 1, true)), limit);
  EXPECT_LT((worst<T>(f, exact, 0.99, 1.01, false)), limit);
}

TYPED_TEST(Logarithm, OfOnePlus) {
  using T = TypeParam;
  const auto f = [](T x) { return logarithm_of_one_plus(x); };
  const auto exact = [](long double x) { return std::log1p(x); };
  const double limit = TestFixture::narrow ? 0.51 : 1.0;
  EXPECT_LT((worst<T>(f, exact, -70, 80, true)), limit);
  EXPECT_LT((worst<T>(f, exact, -0.999, 1, false)), limit);
  EXPECT_LT((worst<T>(f, exact, -1e-6, 1e-6, false)), limit);
}

TYPED_TEST(Logarithm, EndsOfTheRange) {
  using T = TypeParam;
  constexpr T without_end = TestFixture::infinity;
  EXPECT_EQ(logarithm(T{1}), T{0});
  EXPECT_EQ(logarithm(T{0}), -without_end);
  EXPECT_EQ(logarithm(-T{0}), -without_end);
  EXPECT_EQ(logarithm(without_end), without_end);
  EXPECT_TRUE(std::isnan(logarithm(T{-1})));
  EXPECT_TRUE(std::isnan(logarithm(-without_end)));
  EXPECT_TRUE(std::isnan(logarithm(TestFixture::nan)));
  EXPECT_EQ(logarithm(std::numeric_limits<T>::max()), static_cast<T>(std::log(std::numeric_limits<T>::max())));
  EXPECT_EQ(logarithm_of_one_plus(T{0}), T{0});
  EXPECT_TRUE(std::signbit(logarithm_of_one_plus(-T{0})));
  EXPECT_EQ(logarithm_of_one_plus(T{-1}), -without_end);
  EXPECT_EQ(logarithm_of_one_plus(without_end), without_end);
  EXPECT_TRUE(std::isnan(logarithm_of_one_plus(T{-2})));
  EXPECT_TRUE(std::isnan(logarithm_of_one_plus(TestFixture::nan)));
  const T smallest = std::numeric_limits<T>::denorm_min();
  EXPECT_EQ(logarithm_of_one_plus(smallest), smallest);
  EXPECT_EQ(logarithm_of_one_plus(std::numeric_limits<T>::max()),
            static_cast<T>(std::log1p(std::numeric_limits<T>::max())));
}

TYPED_TEST(Logarithm, ExponentialMinusOne) {
  using T = TypeParam;
  const auto f = [](T x) { return exponential_minus_one(x); };
  const auto exact = [](long double x) { return std::expm1(x); };
  const double limit = TestFixture::narrow ? 0.51 : 1.3;
  EXPECT_LT((worst<T>(f, exact, -70, TestFixture::narrow ? 88 : 709, false)), limit);
  EXPECT_LT((worst<T>(f, exact, -1, 1, false)), limit);
  EXPECT_LT((worst<T>(f, exact, -70, 0, true)), limit);
  EXPECT_EQ(exponential_minus_one(TestFixture::infinity), TestFixture::infinity);
  EXPECT_EQ(exponential_minus_one(-TestFixture::infinity), T{-1});
  EXPECT_TRUE(std::isnan(exponential_minus_one(TestFixture::nan)));
  EXPECT_TRUE(std::signbit(exponential_minus_one(-T{0})));
}

TYPED_TEST(Logarithm, ErrorFunction) {
  using T = TypeParam;
  const auto f = [](T x) { return error_function(x); };
  const auto exact = [](long double x) { return std::erf(x); };
  const double limit = TestFixture::narrow ? 0.51 : 1.6;
  EXPECT_LT((worst<T>(f, exact, -6.5, 6.5, false)), limit);
  EXPECT_LT((worst<T>(f, exact, -1, 1, false)), limit);
  EXPECT_LT((worst<T>(f, exact, -60, 0, true)), limit);
  EXPECT_EQ(error_function(TestFixture::infinity), T{1});
  EXPECT_EQ(error_function(-TestFixture::infinity), T{-1});
  EXPECT_EQ(error_function(T{-7}), T{-1});
  EXPECT_TRUE(std::isnan(error_function(TestFixture::nan)));
  EXPECT_TRUE(std::signbit(error_function(-T{0})));
}

}  // namespace
}  // namespace msrun
