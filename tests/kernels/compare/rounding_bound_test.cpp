// The error bounds of rounding.h to the last place: what is exactly at a bound is explained, the next number is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/compare/bounds/estimates.h"
#include "kernels/compare/bounds/rounding.h"
#include "kernels/compare/bounds/rounding_screens.h"
#include "kernels/compare/bounds/trust.h"
#include "kernels/compare/bounds/typical.h"

namespace msrun {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double ulp = 0x1p-23;  // of float32 at 1

Tensor of(DType dtype, const std::vector<double>& values) {
  const Dims shape{static_cast<std::int64_t>(values.size())};
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values)).to(dtype);
}

Tensor of(const std::vector<double>& values) { return of(DType::float64, values); }

// Elements beyond the bound where all results are 1 but one, which is 1 + difference.
std::int64_t beyond(double difference, const ErrorBudget& budget, std::size_t count = 1) {
  std::vector<double> device(count, 1);
  device[count / 2] += difference;
  return fit_rounding(of(std::vector<double>(count, 1)), of(DType::float32, device), budget).beyond;
}

void expect_bound(double bound, const ErrorBudget& budget, std::size_t count = 1) {
  EXPECT_EQ(beyond(bound, budget, count), 0);
  EXPECT_EQ(beyond(bound + ulp, budget, count), 1);
  EXPECT_EQ(beyond(-bound, budget, count), 0);
  EXPECT_EQ(beyond(-bound - ulp, budget, count), 1);
}

TEST(RoundingBound, OnePlaceWithoutSums) {
  expect_bound(ulp, {});
  // Of subnormal numbers a place is that of the smallest normal one.
  const Tensor bench = of({0x1p-20});
  EXPECT_EQ(fit_rounding(bench, of(DType::float16, {0x1p-20 + 0x1p-24}), {}).beyond, 0);
  EXPECT_EQ(fit_rounding(bench, of(DType::float16, {0x1p-20 + 0x1p-23}), {}).beyond, 1);
}

// ulp(y) + 8 u sqrt(n) (|y| + s).
TEST(RoundingBound, SumsOfMeasuredTerms) {
  ErrorBudget budget;
  budget.longest = 4096;
  budget.spread = of({3});
  expect_bound(ulp + 8 * 0x1p-24 * 64 * (1 + 3), budget);
  budget.longest = 1;
  expect_bound(ulp + 8 * 0x1p-24 * (1 + 3), budget);
}

TEST(RoundingBound, SumsOfTermsAsLargeAsTheTypicalResult) {
  ErrorBudget budget;
  budget.longest = 4096;
  expect_bound(ulp + 8 * 0x1p-24 * 64 * (1 + 1), budget, 9);
  budget.slack = 8;
  expect_bound(ulp + 8 * 8 * 0x1p-24 * 64 * (1 + 1), budget, 9);
}

TEST(RoundingBound, DoublesAreSummedInDouble) {
  ErrorBudget budget;
  budget.longest = 4096;
  budget.spread = of({1});
  const double bound = 0x1p-52 + 8 * 0x1p-53 * 64 * 2;
  EXPECT_EQ(fit_rounding(of({1}), of({1 + bound}), budget).beyond, 0);
  EXPECT_EQ(fit_rounding(of({1}), of({1 + bound + 0x1p-52}), budget).beyond, 1);
}

TEST(RoundingBound, OperationsAreNotGrantedWhatOthersAre) {
  ErrorBudget budget;
  budget.longest = 1;
  // Nothing is known of the terms: the others' size says nothing about them.
  std::vector<double> bench(9, 1e6);
  bench[4] = 1;
  std::vector<double> device = bench;
  device[4] += 0.01;
  EXPECT_EQ(fit_rounding(of(bench), of(DType::float32, device), budget).beyond, 1);
}

// A mask moves most scores to -1e9: the others have terms of their own.
TEST(RoundingBound, MaskedElementsDoNotExcuseTheOthers) {
  std::vector<double> bench(400, -1e9);
  for (std::size_t i = 0; i < bench.size(); i += 3) bench[i] = 1 + 0.01 * static_cast<double>(i % 50);
  std::vector<double> device = bench;
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < bench.size(); i += 3) {
    device[i] *= 1.01;
    ++wrong;
  }
  ErrorBudget budget;
  budget.longest = 64;
  EXPECT_EQ(fit_rounding(of(bench), of(DType::float32, device), budget).beyond, wrong);
  EXPECT_FALSE(surely_rounding_of_sums(of(bench), of(DType::float32, device), 64));
}

TEST(RoundingBound, NoiseOfSoundArithmetic) {
  ErrorBudget budget;
  budget.noise = of({0x1p-10});
  expect_bound(ulp + 16 * 0x1p-10, budget);
}

// Gradients of a saturated function are next to nothing and all noise: the others have no share of that.
TEST(RoundingBound, NoisyElementsDoNotExcuseTheOthers) {
  const std::size_t saturated = 60;
  std::vector<double> bench(100, 1e-3);
  std::vector<double> noise(100, 1e-3);
  std::fill(bench.begin() + saturated, bench.end(), 1.0);
  std::fill(noise.begin() + saturated, noise.end(), 0.0);
  noise[99] = 0x1p-10;
  ErrorBudget budget;
  budget.noise = of(noise);
  std::vector<double> device = bench;
  for (std::size_t i = saturated; i < 99; ++i) device[i] = 1.1;
  EXPECT_EQ(fit_rounding(of(bench), of(DType::bfloat16, device), budget).beyond, 39);
  // What few samples may have missed is some of the noise that they have shown.
  device = bench;
  device[99] = 1 + 6 * 16 * 0x1p-10;
  EXPECT_EQ(fit_rounding(of(bench), of(DType::bfloat16, device), budget).beyond, 0);
}

TEST(RoundingBound, StoredIntermediateResults) {
  ErrorBudget budget;
  // Of the median element too, which here is the only one.
  budget.with_stored = of(DType::float32, {1 + 0x1p-20});
  expect_bound(ulp + 2 * (0x1p-20 + 0x1p-20), budget);
  std::vector<double> stored(9, 1);
  stored[4] += 0x1p-20;
  budget.with_stored = of(DType::float32, stored);
  expect_bound(ulp + 2 * 0x1p-20, budget, 9);
}

// Where they lead to another number altogether, the result is one or the other, and nothing between.
TEST(RoundingBound, StoredIntermediateResultsThatJump) {
  ErrorBudget budget;
  std::vector<double> stored(9, 1);
  stored[4] = 1.5;
  budget.with_stored = of(DType::float32, stored);
  EXPECT_EQ(beyond(0.5, budget, 9), 0);
  EXPECT_EQ(beyond(0.25, budget, 9), 1);
  EXPECT_EQ(beyond(ulp, budget, 9), 0);
}

TEST(RoundingBound, TheNearestNumber) {
  ErrorBudget budget;
  budget.nearest = true;
  const Tensor bench = of({1 + 0.3 * ulp, 1 + 0.5 * ulp, 1 + 0.5 * ulp});
  const RoundingFit fit = fit_rounding(bench, of(DType::float32, {1 + ulp, 1, 1 + ulp}), budget);
  EXPECT_TRUE(fit.explained());
  EXPECT_EQ(fit.misrounded, 1);
  EXPECT_TRUE(fit.is_misrounded.at(0));
}

TEST(RoundingBound, NumbersThatAreNotFinite) {
  const auto explained = [](double bench, double device) {
    return fit_rounding(of({bench}), of(DType::float16, {device}), {}).explained();
  };
  EXPECT_FALSE(explained(1, nan_value));
  EXPECT_FALSE(explained(nan_value, 1));
  EXPECT_FALSE(explained(1, infinity));
  EXPECT_FALSE(explained(70000, -infinity));
  EXPECT_TRUE(explained(65510, infinity));
  // The largest number itself.
  EXPECT_FALSE(explained(65504, infinity));
  EXPECT_FALSE(explained(60000, infinity));
}

TEST(RoundingScreens, TakeWhatIsWithinTheBoundOfTermsThatDoNotCancel) {
  const auto takes = [](double difference, std::size_t place) {
    std::vector<double> device(3000, 1);
    device[place] += difference;
    return surely_rounding(of(std::vector<double>(3000, 1)), of(DType::float32, device), 4096);
  };
  const double bound = 8 * 0x1p-24 * 64;
  for (const std::size_t place : {std::size_t{0}, std::size_t{2999}}) {
    EXPECT_TRUE(takes(bound, place));
    EXPECT_FALSE(takes(bound + ulp, place));
    EXPECT_TRUE(takes(-bound, place));
    EXPECT_FALSE(takes(-bound - ulp, place));
    EXPECT_FALSE(takes(nan_value, place));
    EXPECT_FALSE(takes(infinity, place));
  }
}

TEST(RoundingScreens, OfSumsGrantTheTypicalMagnitude) {
  const auto takes = [](double difference) {
    std::vector<double> device(3000, 1);
    device[2000] += difference;
    return surely_rounding_of_sums(of(std::vector<double>(3000, 1)), of(DType::float32, device), 4096);
  };
  const double bound = 8 * 0x1p-24 * 64 * (1 + 1);
  EXPECT_TRUE(takes(bound));
  EXPECT_FALSE(takes(bound + ulp));
  EXPECT_FALSE(takes(nan_value));
}

// Half types are compared with float32 in float32, all else in float64: the answers are the same, for elements around
// the middle between two numbers of the half type, for subnormal ones and at the end of the range.
TEST(RoundingScreens, SayOfFloat32WhatTheySayOfFloat64) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> mantissa(1, 2);
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const int widest = dtype == DType::float16 ? 26 : 140;
    int taken = 0;
    for (int i = 0; i < 4000; ++i) {
      const int exponent = static_cast<int>(random() % static_cast<std::uint64_t>(2 * widest)) - widest;
      const Tensor device = of(dtype, {std::ldexp(mantissa(random), exponent)});
      const double number = device.item();
      // From the number to its neighbour, half of them a little beside the middle.
      const double beside = std::copysign(std::ldexp(mantissa(random), -11), mantissa(random) - 1.5);
      const double units = i % 2 == 0 ? mantissa(random) - 1 : 0.5 + beside;
      const double place = unit_in_last_place(dtype, std::isfinite(number) ? number : 1);
      const Tensor bench = of(DType::float32, {number + place * units});
      for (const std::int64_t longest : {0, 1, 4096}) {
        const bool takes = surely_rounding(bench, device, longest);
        EXPECT_EQ(takes, surely_rounding(bench.to(DType::float64), device, longest)) << bench.item() << " " << number;
        taken += takes ? 1 : 0;
      }
      EXPECT_EQ(surely_equal(bench, device), surely_equal(bench.to(DType::float64), device));
    }
    EXPECT_GT(taken, 2000);
    EXPECT_LT(taken, 10000);
  }
}

TEST(RoundingScreens, CopiesAreEqual) {
  const Tensor bench = of({1, 2, 3});
  EXPECT_TRUE(surely_equal(bench, of(DType::float32, {1, 2, 3})));
  EXPECT_FALSE(surely_equal(bench, of(DType::float32, {1, 2 + 0x1p-22, 3})));
  EXPECT_FALSE(surely_equal(bench, of(DType::float32, {1, 2, 3 - 0x1p-22})));
  EXPECT_FALSE(surely_equal(bench, of(DType::float32, {1, nan_value, 3})));
}

TEST(RoundingEstimates, AreRootsOfMeanSquares) {
  SpreadEstimate spread(of({1}), 0.5);
  spread.add(of({2}));
  EXPECT_EQ(spread.spread().item(), 2);
  spread.add(of({-6}));
  EXPECT_EQ(spread.spread().item(), 10);
  NoiseEstimate noise(Dims{2});
  noise.add(of({1, infinity}), of({4, 1}));
  noise.add(of({1, 1}), of({1 - std::sqrt(23.0), 1}));
  EXPECT_DOUBLE_EQ(noise.noise().item(0), 4);
  EXPECT_EQ(noise.noise().item(1), 0);
  // Less what storing the results adds.
  NoiseEstimate stored(Dims{1});
  stored.add(of({1}), of(DType::bfloat16, {1 + 0x1p-7}));
  EXPECT_DOUBLE_EQ(stored.noise().item(0), 0x1p-7 * std::sqrt(5.0 / 6));
}

// Squares of float64 numbers may be beyond its range: infinity would explain everything, and zero nothing.
TEST(Estimates, HoldWhatCannotBeSquared) {
  for (const double size : {1e250, 1e-250, 1e-310}) {
    NoiseEstimate noise(Dims{1});
    for (const double error : {3.0, -4.0}) noise.add(of({size}), of({size * (1 + error)}));
    EXPECT_NEAR(noise.noise().item(0) / size, std::sqrt(12.5), 1e-6) << size;
    SpreadEstimate spread(of({size}), 0.5);
    for (const double change : {3.0, -4.0}) spread.add(of({size * (1 + change)}));
    EXPECT_NEAR(spread.spread().item(0) / size, 2 * std::sqrt(12.5), 1e-6) << size;
  }
  NoiseEstimate of_larger(Dims{2}, 1e-3);
  of_larger.add(of({1e-4, 1e-2}), of({2e-4, 2e-2}));
  EXPECT_EQ(of_larger.noise().item(0), 0);
  EXPECT_GT(of_larger.noise().item(1), 0);
}

TEST(Estimates, KnowWhatAllErrorsHaveInCommon) {
  const Tensor exact = of({1, -2, 4, 0});
  EXPECT_EQ(common_factor(exact, exact), 0);
  EXPECT_DOUBLE_EQ(common_factor(exact, of({1.25, -2.5, 5, 0})), 0.25);
  // Errors that cancel have nothing in common.
  EXPECT_DOUBLE_EQ(common_factor(exact, of({1 + 0.5, -2 + 0.25, 4, 0})), 0);
  EXPECT_DOUBLE_EQ(common_factor(of({infinity, 1, 2}), of({1, 2, nan_value})), 1);
  EXPECT_EQ(common_factor(of({0, 0}), of({1, 2})), 0);
  EXPECT_EQ(common_factor(of({infinity}), of({1})), 0);
}

TEST(TrustIn, SaysWhatProvesLittle) {
  const auto weak_evidence = [](const std::vector<double>& bench, const ErrorBudget& budget = {}) {
    return trust_in(of(bench), DType::float32, budget).weak_evidence;
  };
  EXPECT_EQ(weak_evidence({1, 2, 3, 4}), WeakEvidence::none);
  EXPECT_EQ(weak_evidence({0, 0, 0, 0}), WeakEvidence::all_zero);
  EXPECT_EQ(weak_evidence({5, 5, 5, 5}), WeakEvidence::constant);
  EXPECT_EQ(weak_evidence({5, 5, 5, 5.5}), WeakEvidence::none);
  EXPECT_EQ(weak_evidence({5, 5, 5}), WeakEvidence::none) << "few elements may well be equal";
  EXPECT_EQ(weak_evidence({nan_value, infinity, -infinity, nan_value}), WeakEvidence::not_finite);
  EXPECT_EQ(weak_evidence({nan_value, infinity, 1, nan_value}), WeakEvidence::none);
  // Of many elements the first are looked at by themselves.
  EXPECT_EQ(weak_evidence(std::vector<double>(16, 5)), WeakEvidence::constant);
  EXPECT_EQ(weak_evidence(std::vector<double>(16, nan_value)), WeakEvidence::not_finite);
  EXPECT_EQ(weak_evidence({0, 1, 2, 3, 4, 5, 6, 7, 8}), WeakEvidence::none);
  std::vector<double> late(2000, 1);
  late.back() = 2;
  EXPECT_EQ(weak_evidence(late), WeakEvidence::none);
}

TEST(TrustIn, CancellationLeavesNoDigits) {
  const auto trust = [](double spread) {
    ErrorBudget budget;
    budget.longest = 1;
    budget.spread = of({spread, spread, spread, spread});
    return trust_in(of({1, 1.25, 1.5, 1.75}), DType::float32, budget);
  };
  // A bound of 8 u times the terms behind results of about 1.
  EXPECT_EQ(trust(0x1p20).weak_evidence, WeakEvidence::none);
  EXPECT_EQ(trust(0x1p22).weak_evidence, WeakEvidence::cancellation);
  EXPECT_EQ(trust(0x1p20).visible, (VisibleFault{-1, -1}));
}

// Where sound arithmetic leaves no finite number the device may have none; a finite one has to be right.
TEST(RoundingBound, WhatSoundArithmeticLoses) {
  const Tensor exact = of({2, infinity, 1e38, 1, infinity, nan_value});
  Tensor lost;
  mark_lost(exact, of(DType::float32, {2, infinity, 1e38, 1, infinity, 3}), lost);
  EXPECT_FALSE(lost.defined());
  // Next to the end of the range it may be infinite anyway.
  mark_lost(of({2e38, 2e38}), of(DType::float32, {infinity, -infinity}), lost);
  EXPECT_FALSE(lost.defined());
  mark_lost(exact, of(DType::float32, {infinity, nan_value, 1e38, nan_value, infinity, 3}), lost);
  ASSERT_TRUE(lost.defined());
  const auto* marks = lost.data<double>();
  EXPECT_EQ(marks[0], infinity);
  EXPECT_TRUE(std::isnan(marks[1]) && std::isnan(marks[3]));
  EXPECT_EQ(marks[2] + marks[4] + marks[5], 0);

  ErrorBudget budget;
  budget.lost = lost;
  const Tensor bench = of({2, infinity, 1e38, 1, 5, 6});
  const RoundingFit fit =
      fit_rounding(bench, of(DType::float32, {infinity, nan_value, nan_value, 1.5, nan_value, 6}), budget);
  EXPECT_EQ(fit.overflowed, 2);
  EXPECT_EQ(fit.beyond, 3);
  EXPECT_EQ(fit_rounding(bench, of(DType::float32, {-infinity, infinity, 1e38, infinity, 5, 6}), budget).beyond, 2);
}

TEST(TrustIn, AFaultIsVisibleInTheTypicalElementAndInTheOneThatVariesLeast) {
  const auto visible = [](const std::vector<double>& spread) {
    ErrorBudget budget;
    budget.longest = 1;
    budget.spread = of(spread);
    return *trust_in(of(std::vector<double>(spread.size(), 1)), DType::float32, budget).visible;
  };
  // The bound is 2^-21 of the terms, and a place besides, which only does not count beside huge ones.
  EXPECT_EQ(visible({0x1p10}), (VisibleFault{-10, -10}));
  EXPECT_EQ(visible({0x1p10, 0x1p12}), (VisibleFault{-8, -10}));
  EXPECT_EQ(visible({0x1p8, 0x1p14, 0x1p10}), (VisibleFault{-10, -12}));
  EXPECT_EQ(visible({0x1p16, 0x1p8, 0x1p10, 0x1p13}), (VisibleFault{-7, -12}));
  EXPECT_EQ(visible({0x1p100, 0x1p9, 0x1p120, 0x1p110, 0x1p10}), (VisibleFault{79, -11}));
}

TEST(Median, IsTheUpperOneOfMagnitudesHoweverFarApart) {
  EXPECT_EQ(median({}), 0);
  std::mt19937_64 random(7);
  for (const int widest : {0, 1, 40, 1000}) {
    for (const std::size_t count : {1U, 2U, 3U, 64U, 127U, 4096U}) {
      std::vector<double> magnitudes(count);
      for (double& magnitude : magnitudes) {
        magnitude = std::ldexp(std::uniform_real_distribution<>(1, 2)(random),
                               std::uniform_int_distribution(-widest, widest)(random));
        if (random() % 8 == 0) magnitude = 0;
        if (random() % 8 == 0) magnitude = 1;
      }
      std::vector<double> sorted = magnitudes;
      std::ranges::sort(sorted);
      EXPECT_EQ(median(magnitudes), sorted[count / 2]) << count << " of 2^" << widest;
    }
  }
}

}  // namespace
}  // namespace msrun
