// Gamma functions, the Bessel function i0, windows of signal processing and frexp.
#include "kernels/numeric/special_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using Values = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double pi = std::numbers::pi;

void expect_near(const Values& actual, const Values& expected, double tolerance = 1e-13) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "element " << i;
  }
}

TEST(IncompleteGamma, WholeAndHalfOrders) {
  for (const double x : {0.01, 0.5, 1.0, 3.0, 20.0, 100.0}) {
    // Q(1, x) = e^-x, Q(3, x) = e^-x (1 + x + x^2 / 2), P(1/2, x) = erf(sqrt x).
    EXPECT_NEAR(gamma_q(1, x) / std::exp(-x), 1, 1e-12) << x;
    EXPECT_NEAR(gamma_q(3, x) / (std::exp(-x) * (1 + x + x * x / 2)), 1, 1e-11) << x;
    EXPECT_NEAR(gamma_p(0.5, x) / std::erf(std::sqrt(x)), 1, 1e-13) << x;
    EXPECT_NEAR(gamma_q(0.5, x) / std::erfc(std::sqrt(x)), 1, 1e-11) << x;
  }
}

TEST(IncompleteGamma, LargeOrders) {
  // The series and the uniform expansion meet where one takes over from the other.
  for (const double shift : {-3000.0, -500.0, 0.0, 700.0, 2500.0}) {
    const double below = 1e6;
    const double above = std::nextafter(1e6, 2e6);
    EXPECT_NEAR(gamma_p(below, below + shift), gamma_p(above, above + shift), 1e-9) << shift;
    EXPECT_NEAR(gamma_p(above, above + shift) + gamma_q(above, above + shift), 1, 1e-12) << shift;
  }
  EXPECT_NEAR(gamma_p(1e12, 1e12), 0.5, 1e-6);
  EXPECT_EQ(gamma_p(1e300, 1), 0);
}

TEST(IncompleteGamma, Limits) {
  EXPECT_EQ(gamma_p(0, 1), 1);
  EXPECT_TRUE(std::isnan(gamma_p(0, 0)));
  EXPECT_EQ(gamma_p(2, 0), 0);
  EXPECT_EQ(gamma_p(2, infinity), 1);
  EXPECT_EQ(gamma_q(2, infinity), 0);
  EXPECT_EQ(gamma_p(infinity, 2), 0);
  EXPECT_TRUE(std::isnan(gamma_q(infinity, infinity)));
  EXPECT_TRUE(std::isnan(gamma_q(-1, 2)));
  EXPECT_TRUE(std::isnan(gamma_q(1, -2)));
}

// References of the hard points: mpmath with 40 digits.
TEST(IncompleteGamma, HardPoints) {
  EXPECT_NEAR(gamma_p(93.561275297572294, 89.733483213649137) / 0.35693200346416371272, 1, 1e-13);
  EXPECT_NEAR(gamma_q(93.561275297572294, 89.733483213649137) / 0.64306799653583628728, 1, 1e-13);
  EXPECT_NEAR(gamma_q(0.0015723851365313062, 0.080109094595214939) / 0.0031819246135354437686, 1, 1e-14);
  EXPECT_NEAR(gamma_p(94989.067094307378, 90154.014731568226) / 1.1911299762756258966e-57, 1, 1e-10);
  EXPECT_NEAR(gamma_q(1e-300, 0.5) / 5.5977359477616082577e-301, 1, 1e-13);
  EXPECT_EQ(gamma_p(1e-320, 0.5), 1);
}

TEST(IncompleteGamma, OperatorsAndTheirGradients) {
  const Tensor a = float64({2}, {0.5, 3});
  const Tensor x = float64({3, 1}, {0.4, 2.5, 6});
  EXPECT_NEAR(forward("Torch", "igamma", {a, x})[2], std::erf(std::sqrt(2.5)), 1e-13);
  EXPECT_NEAR(forward("Tensor", "igammac_", {a, x})[0], std::erfc(std::sqrt(0.4)), 1e-13);
  check_gradients("Torch", "igamma", {a, x}, {}, 0, 1e-6, {0});
  check_gradients("Tensor", "igammac", {a, x}, {}, 0, 1e-6, {0});
}

TEST(Digamma, HardPoints) {
  EXPECT_NEAR(digamma(1.4616) / -0.000031106251230341649658, 1, 2e-15);
  EXPECT_NEAR(digamma(0.9424150587044361) / -0.67614390616203570825, 1, 2e-15);
  EXPECT_NEAR(digamma(-0.5) / 0.036489973978576520559, 1, 1e-13);
  EXPECT_NEAR(digamma(1e-300), -1e300, 1e285);
  EXPECT_NEAR(trigamma(9.0087974579862973) / 0.11739079358256451878, 1, 2e-15);
  EXPECT_NEAR(trigamma(-4.0000317507797618) / 991953262.8668296558, 1, 2e-15);
  EXPECT_NEAR(trigamma(-1e-8) / 10000000000000001.226, 1, 2e-15);
  EXPECT_TRUE(std::isnan(digamma(-3)));
  EXPECT_TRUE(std::isnan(digamma(-infinity)));
  EXPECT_EQ(digamma(-0.0), infinity);
  EXPECT_EQ(trigamma(-3), infinity);
  EXPECT_EQ(trigamma(infinity), 0);
}

TEST(Polygamma, KnownValues) {
  EXPECT_NEAR(hurwitz_zeta(2, 1), pi * pi / 6, 1e-15);
  EXPECT_NEAR(hurwitz_zeta(4, 1), std::pow(pi, 4) / 90, 1e-15);
  EXPECT_NEAR(hurwitz_zeta(2, 0.5), pi * pi / 2, 1e-14);
  EXPECT_NEAR(hurwitz_zeta(60, 3) / (std::pow(3, -60) + std::pow(4, -60) + std::pow(5, -60)), 1, 1e-12);
  EXPECT_EQ(hurwitz_zeta(3, -2), infinity);
  // One term more than from 0.5 on.
  EXPECT_NEAR(hurwitz_zeta(3, -0.5), hurwitz_zeta(3, 0.5) - 8, 1e-12);
  EXPECT_NEAR(hurwitz_zeta(2, -1.5), hurwitz_zeta(2, 0.5) + 4 + 4.0 / 9, 1e-12);
  EXPECT_TRUE(std::isfinite(hurwitz_zeta(3, -1e15 - 0.5)));
  constexpr double zeta3 = 1.2020569031595942;
  expect_near(forward("Torch", "polygamma", {std::int64_t{2}, float64({1}, {1})}), {-2 * zeta3});
  expect_near(forward("Tensor", "polygamma", {float64({1}, {1}), std::int64_t{3}}), {std::pow(pi, 4) / 15});
  expect_near(forward("Tensor", "polygamma_", {float64({1}, {1}), std::int64_t{1}}), {pi * pi / 6});
  for (std::int64_t n = 0; n < 5; ++n) {
    check_gradients("Torch", "polygamma", {n, float64({4}, {0.4, 1.5, 9, 30})}, {}, 0, 1e-5);
  }
  check_gradients("Torch", "polygamma", {std::int64_t{2}, float64({2}, {-0.6, -3.4})}, {}, 0, 1e-5);
  EXPECT_THROW(forward("Torch", "polygamma", {std::int64_t{-1}, float64({1}, {1})}), SkipError);
}

TEST(Mvlgamma, IsASumOfLogGammas) {
  // Gamma_2(x) = sqrt(pi) Gamma(x) Gamma(x - 1/2).
  expect_near(forward("Torch", "mvlgamma", {float64({1}, {3}), std::int64_t{2}}),
              {std::log(std::sqrt(pi) * 2 * std::tgamma(2.5))});
  // Where it is not defined, the sum is what torch gives: of log gamma at 0.3, -0.2 and -0.7.
  expect_near(forward("Torch", "mvlgamma", {float64({1}, {0.3}), std::int64_t{3}}),
              {1.5 * std::log(pi) + std::lgamma(0.3) + std::lgamma(-0.2) + std::lgamma(-0.7)});
  check_gradients("Tensor", "mvlgamma_", {float64({3}, {2.5, 4, 7}), std::int64_t{4}});
  EXPECT_THROW(forward("Torch", "mvlgamma", {float64({1}, {3}), std::int64_t{0}}), SkipError);
}

TEST(BesselI0, BothRangesOfItsSeries) {
  EXPECT_NEAR(bessel_i0(0), 1, 0);
  EXPECT_NEAR(bessel_i0(1), 1.2660658777520084, 1e-15);
  EXPECT_NEAR(bessel_i1(1), 0.5651591039924851, 1e-15);
  EXPECT_NEAR(bessel_i1(-1), -0.5651591039924851, 1e-15);
  EXPECT_NEAR(bessel_i0(20) / bessel_i0(std::nextafter(20, 0)), 1, 1e-14);
  EXPECT_NEAR(bessel_i1(20) / bessel_i1(std::nextafter(20, 0)), 1, 1e-14);
  EXPECT_TRUE(std::isfinite(bessel_i0(712)));
  EXPECT_EQ(bessel_i0(1000), infinity);
  EXPECT_EQ(bessel_i1(-1000), -infinity);
  EXPECT_NEAR(bessel_i0(-16.054546230377738) / 941903.02635572941509, 1, 2e-15);
  EXPECT_NEAR(bessel_i1(-16.054546230377738) / -912080.11582677123834, 1, 2e-15);
  EXPECT_EQ(bessel_i0(-3), bessel_i0(3));
  check_gradients("Torch", "i0", {float64({3}, {-2, 0, 0.7})});
  check_gradients("Torch", "i0", {float64({1}, {25})});
  Tape tape;
  std::vector<Var> leaves;
  EXPECT_EQ(call("Tensor", "i0_", {Tensor::full(DType::bfloat16, Dims{2}, 1)}, {}, tape, leaves).dtype(),
            DType::bfloat16);
}

TEST(Windows, ShortOnesByHand) {
  const std::int64_t four = 4;
  const double half = std::sqrt(0.5);
  expect_near(forward("Torch", "hann_window", {four}), {0, 0.5, 1, 0.5}, 1e-7);
  expect_near(forward("Torch", "hann_window", {four, false}), {0, 0.75, 0.75, 0}, 1e-7);
  expect_near(forward("Torch", "bartlett_window", {four}), {0, 0.5, 1, 0.5}, 1e-7);
  expect_near(forward("Torch", "hamming_window", {four, true, 0.6, 0.4}), {0.2, 0.6, 1, 0.6}, 1e-7);
  expect_near(forward("Torch", "blackman_window", {std::int64_t{8}}),
              {0, 0.42 - 0.5 * half, 0.34, 0.42 + 0.5 * half, 1, 0.42 + 0.5 * half, 0.34, 0.42 - 0.5 * half}, 3e-7);
  const Dict wide{{"dtype", DType::float64}};
  expect_near(forward("Torch", "kaiser_window", {std::int64_t{3}, false, 2.0}, wide),
              {1 / bessel_i0(2), 1, 1 / bessel_i0(2)});
  expect_near(forward("Torch", "kaiser_window", {std::int64_t{2}}, wide), {1 / bessel_i0(12), 1});
  for (const char* api : {"bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"}) {
    EXPECT_THAT(forward("Torch", api, {std::int64_t{1}}), ElementsAre(1));
    EXPECT_TRUE(forward("Torch", api, {std::int64_t{0}}).empty());
    EXPECT_THROW(forward("Torch", api, {std::int64_t{-1}}), SkipError);
  }
  EXPECT_THROW(forward("Torch", "hann_window", {four}, {{"dtype", DType::int64}}), SkipError);
}

TEST(Frexp, SplitsAndDifferentiates) {
  const Tensor x = float64({5}, {8, -0.75, 0, 0.3, infinity});
  EXPECT_THAT(forward("Torch", "frexp", {x}), ElementsAre(0.5, -0.75, 0, 0.6, infinity));
  EXPECT_THAT(forward("Tensor", "frexp", {x}, {}, 1), ElementsAre(4, 0, 0, -1, 0));
  check_gradients("Torch", "frexp", {float64({3}, {5, -0.7, 0.3})});
  EXPECT_THROW(forward("Torch", "frexp", {int64({1}, {3})}), SkipError);
}

}  // namespace
}  // namespace msrun
