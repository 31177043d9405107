#include "kernels/compare/bounds/rounding.h"
#include "kernels/compare/bounds/estimates.h"
#include "kernels/compare/bounds/rounding_screens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/compare/bounds/typical.h"
#include "kernels/compare/diagnosis/difference.h"
#include "kernels/compare/diagnosis/findings.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

Tensor of(DType dtype, const std::vector<double>& values) {
  const Dims shape{static_cast<std::int64_t>(values.size())};
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values)).to(dtype);
}

RoundingFit fit(const std::vector<double>& bench, const std::vector<double>& device, DType dtype,
                const ErrorBudget& budget = {}) {
  return fit_rounding(of(DType::float64, bench), of(dtype, device), budget);
}

TEST(Rounding, UnitsInTheLastPlace) {
  EXPECT_EQ(unit_in_last_place(DType::bfloat16, 1), 0x1p-7);
  EXPECT_EQ(unit_in_last_place(DType::bfloat16, -1.99), 0x1p-7);
  EXPECT_EQ(unit_in_last_place(DType::float16, 1000), 0.5);
  EXPECT_EQ(unit_in_last_place(DType::float32, 0x1p100), 0x1p77);
  EXPECT_EQ(unit_in_last_place(DType::float64, 1), 0x1p-52);
  // Subnormal numbers are as far apart as the smallest normal ones.
  EXPECT_EQ(unit_in_last_place(DType::float16, 0), 0x1p-24);
  EXPECT_EQ(unit_in_last_place(DType::float32, 1e-40), 0x1p-149);
  EXPECT_EQ(unit_in_last_place(DType::bfloat16, 0), 0x1p-133);
  EXPECT_EQ(unit_in_last_place(DType::float8_e4m3fn, 0), 0x1p-9);
}

TEST(Rounding, TheNeighboursOfTheExactValueAreExplained) {
  // 1 + 0.3 ULP of float16.
  const double exact = 1 + 0.3 * 0x1p-10;
  EXPECT_EQ(fit({exact}, {1}, DType::float16).max_ulps, 0);
  EXPECT_EQ(fit({exact}, {1 + 0x1p-10}, DType::float16).max_ulps, 1);
  EXPECT_TRUE(fit({exact}, {1 + 0x1p-10}, DType::float16).explained());
  const RoundingFit two = fit({exact, 4}, {1 + 0x1p-9, 4}, DType::float16);
  EXPECT_EQ(two.max_ulps, 2);
  EXPECT_EQ(two.beyond, 1);
  EXPECT_TRUE(two.is_beyond.at(0));
  EXPECT_FALSE(two.is_beyond.at(1));
  EXPECT_DOUBLE_EQ(two.max_share, 2);
}

TEST(Rounding, NumbersThatAreNotFinite) {
  EXPECT_TRUE(fit({nan_value, infinity, -infinity}, {nan_value, infinity, -infinity}, DType::float32).explained());
  EXPECT_EQ(fit({nan_value, 1, infinity, 1}, {1, nan_value, -infinity, infinity}, DType::float32).beyond, 4);
  // Beyond the largest number of float16 both infinity and that number are a rounding away, not the other infinity.
  EXPECT_TRUE(fit({70000, 70000, 65519}, {infinity, 65504, infinity}, DType::float16).explained());
  EXPECT_EQ(fit({70000, 65519, 60000}, {-infinity, -infinity, infinity}, DType::float16).beyond, 3);
}

// The bound of a sum of 1e50 is wider than all of float32: no number within the range is explained by it all the same.
TEST(Rounding, OfValuesBeyondTheRangeNothingElseIsExplained) {
  ErrorBudget budget;
  budget.longest = 8;
  const double largest = max_finite(DType::float32);
  EXPECT_TRUE(
      fit({1e50, 1e50, -1e50, -1e50}, {infinity, largest, -infinity, -largest}, DType::float32, budget).explained());
  EXPECT_EQ(fit({1e50, 1e50, 1e50, -1e50, -1e50}, {0, -7, 3e38, largest, infinity}, DType::float32, budget).beyond, 5);
  EXPECT_EQ(fit({1e13, 1e13, -1e13}, {0, 1000, 65504}, DType::float16, budget).beyond, 3);
  // Errors of the sum alone may bring this one back into the range.
  budget.slack = 1e5;
  EXPECT_TRUE(fit({3.5e38}, {3.39e38}, DType::float32, budget).explained());
}

// The four terms may be 2e39 and -2e39 twice: any infinity, and NaN, is right in one order of them or another.
TEST(Rounding, PartialSumsMayExceedTheRange) {
  ErrorBudget budget;
  budget.longest = 4;
  budget.adds_terms = true;
  budget.spread = of(DType::float64, {4e39, 4e39, 4e39, 4e39});
  const RoundingFit overflows =
      fit({1e30, 1e30, 1e30, 1e30}, {nan_value, infinity, -infinity, 1e37}, DType::float32, budget);
  EXPECT_EQ(overflows.overflowed, 3);
  EXPECT_EQ(overflows.beyond, 1);
  // Terms of one sign have only one infinity, and no NaN.
  budget.spread = of(DType::float64, {4e38, 4e38, 4e38, 4e38});
  EXPECT_EQ(fit({8e38, 8e38, -8e38, -8e38}, {-infinity, nan_value, infinity, nan_value}, DType::float32, budget).beyond,
            4);
  // Nor have terms within the range.
  budget.spread = of(DType::float64, {1e38, 1e38, 1e38, 1e38});
  EXPECT_EQ(fit({1e30, 1e30, 1e30, 1e30}, {nan_value, infinity, -infinity, 1e30}, DType::float32, budget).beyond, 3);
  // Nor is what a function of its input may change by a sum of terms.
  ErrorBudget function;
  function.longest = 4;
  function.spread = of(DType::float64, {4e39, 4e39, 4e39, 4e39});
  EXPECT_EQ(fit({6e37, 6e37, 6e37, 6e37}, {infinity, nan_value, -infinity, 6e37}, DType::float32, function).beyond, 3);
  // Sums of half types are formed in float32.
  EXPECT_EQ(fit({1, 1, 1, 1}, {infinity, 1, 1, 1}, DType::float16, budget).beyond, 1);
}

TEST(Rounding, ExactResultsAllowNothing) {
  ErrorBudget budget;
  budget.exact = true;
  EXPECT_TRUE(fit({1, 2}, {1, 2}, DType::float32, budget).explained());
  EXPECT_EQ(fit({1, 2}, {1, 2 + 0x1p-22}, DType::float32, budget).beyond, 1);
}

// Sums in float32 in their plainest order stay within the bound, whose terms cancel; sums in float16 do not.
TEST(Rounding, SumsWithinTheirBound) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  for (const int terms : {16, 256, 4096, 65536}) {
    std::vector<double> exact;
    std::vector<double> in_float;
    std::vector<double> in_half;
    std::vector<double> spread;
    for (int result = 0; result < 64; ++result) {
      double sum = 0;
      double squares = 0;
      float plain = 0;
      Tensor half = Tensor::scalar(DType::float16, 0);
      for (int i = 0; i < terms; ++i) {
        const float term = normal(random);
        sum += term;
        squares += double{term} * term;
        plain += term;
        if (terms <= 4096) half = Tensor::scalar(DType::float16, half.item() + term);
      }
      exact.push_back(sum);
      spread.push_back(std::sqrt(squares));
      in_float.push_back(plain);
      in_half.push_back(half.item());
    }
    ErrorBudget budget;
    budget.longest = terms;
    EXPECT_TRUE(fit(exact, in_float, DType::float32, budget).explained()) << terms;
    budget.spread = of(DType::float64, spread);
    const RoundingFit whole = fit(exact, in_float, DType::float32, budget);
    EXPECT_TRUE(whole.explained()) << terms;
    EXPECT_GT(whole.max_share, 0.001) << "the bound says nothing";
    if (terms >= 256 && terms <= 4096) {
      EXPECT_GT(fit(exact, in_half, DType::float32, budget).beyond, 48) << terms;
    }
  }
}

TEST(Rounding, SpreadIsThatOfTheTerms) {
  std::mt19937_64 random(3);
  const std::vector<double> terms{3, -4, 12, 0.5};
  double squares = 0;
  double sum = 0;
  for (const double term : terms) {
    squares += term * term;
    sum += term;
  }
  constexpr double change = 0x1p-10;
  SpreadEstimate estimate(of(DType::float64, {sum}), change);
  for (int sample = 0; sample < 4000; ++sample) {
    double changed = 0;
    for (const double term : terms) changed += term * ((random() & 1U) != 0 ? 1 + change : 1 - change);
    estimate.add(of(DType::float64, {changed}));
  }
  EXPECT_NEAR(estimate.spread().item(), std::sqrt(squares), 0.03 * std::sqrt(squares));
}

// A mask moves most elements far away; the typical element says nothing about the others then.
TEST(Rounding, ElementsOfAnotherKindHaveATypicalMagnitudeOfTheirOwn) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  ErrorBudget budget;
  budget.longest = 64;
  for (const int percent : {51, 63, 90, 99}) {
    std::vector<double> bench;
    for (int i = 0; i < 2000; ++i) bench.push_back(normal(random) + (i % 100 < percent ? -1e9 : 0));
    std::vector<double> device = bench;
    EXPECT_TRUE(fit(bench, device, DType::float32, budget).explained()) << percent;
    EXPECT_FALSE(surely_rounding_of_sums(of(DType::float64, bench), of(DType::float32, bench), 64)) << percent;
    for (int i = 0; i < 2000; ++i) {
      if (i % 100 >= percent) device[static_cast<std::size_t>(i)] *= 1.001;
    }
    const auto wrong = fit(bench, device, DType::float32, budget).beyond;
    EXPECT_GE(wrong, (100 - percent) * 20 * 9 / 10) << percent;
  }
  // Values that are small by chance are of no other kind.
  std::vector<double> smooth;
  for (int i = 0; i < 20000; ++i) smooth.push_back(normal(random));
  EXPECT_TRUE(surely_rounding_of_sums(of(DType::float64, smooth), of(DType::float32, smooth), 64));
}

// Among thousands of outputs some have a few more small elements than others.
TEST(Rounding, ChanceMakesNoKindOfItsOwn) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int output = 0; output < 2000; ++output) {
    std::vector<double> values(4096);
    for (double& value : values) value = normal(random);
    EXPECT_TRUE(TypicalMagnitude(std::move(values)).is_one_kind()) << output;
  }
}

// Most rows of an embedding's gradient are zero. Where the terms of others cancel, these others are what is typical.
TEST(Rounding, ZerosAreAKindOfTheirOwn) {
  std::mt19937 random(6);
  std::normal_distribution<double> normal;
  std::vector<double> values(8000);
  for (std::size_t i = 0; i < values.size(); i += 10) values[i] = normal(random);
  const TypicalMagnitude typical(values);
  EXPECT_NEAR(typical.of(1e-6), 0.67, 0.1);
  EXPECT_EQ(typical.of(0), 0);
  EXPECT_EQ(TypicalMagnitude(std::vector<double>(100)).of(0), 0);
  ErrorBudget budget;
  budget.longest = 8;
  std::vector<double> device = values;
  values[10] = 1e-8;
  device[10] = 2e-8;
  EXPECT_TRUE(fit(values, device, DType::float32, budget).explained());
  device[11] = 1e-8;
  EXPECT_EQ(fit(values, device, DType::float32, budget).beyond, 1);
}

TEST(Rounding, ScreensLetNothingPassThatIsNotExplained) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  int passed = 0;
  for (int round = 0; round < 400; ++round) {
    const DType dtype = round % 2 == 0 ? DType::float32 : DType::bfloat16;
    std::vector<double> bench;
    std::vector<double> device;
    const double size = std::ldexp(epsilon(dtype), round / 2 % 12 - 9);
    for (int i = 0; i < 700; ++i) {
      bench.push_back(normal(random));
      device.push_back(bench.back() * (1 + size * normal(random)));
    }
    const Tensor left = of(DType::float64, bench);
    const Tensor right = of(dtype, device);
    for (const std::int64_t terms : {1, 16, 4096}) {
      ErrorBudget budget;
      budget.longest = terms;
      budget.nearest = true;
      if (surely_rounding(left, right, terms)) {
        ++passed;
        EXPECT_TRUE(fit_rounding(left, right, budget).explained());
        EXPECT_EQ(fit_rounding(left, right, budget).misrounded, 0);
      }
      if (terms > 1 && surely_rounding_of_sums(left, right, terms)) {
        EXPECT_TRUE(fit_rounding(left, right, budget).explained());
      }
    }
  }
  EXPECT_GT(passed, 100);
  const Tensor nan = of(DType::float32, {nan_value, 1});
  EXPECT_FALSE(surely_rounding(of(DType::float64, {1, 1}), nan, 1));
  EXPECT_FALSE(surely_rounding(of(DType::float64, {nan_value, 1}), of(DType::float32, {1, 1}), 1));
  EXPECT_FALSE(surely_rounding(of(DType::float64, {1, 1}), of(DType::float32, {infinity, 1}), 1));
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    EXPECT_FALSE(surely_rounding(of(DType::float32, {infinity, 1}), of(dtype, {5, 1}), 4));
    EXPECT_FALSE(surely_rounding(of(DType::float32, {infinity, 1}), of(dtype, {-infinity, 1}), 4));
  }
  EXPECT_TRUE(surely_equal(of(DType::float64, {0.5, 1}), of(DType::float32, {0.5, 1})));
  EXPECT_TRUE(surely_equal(of(DType::float64, {nan_value, 1}), of(DType::float32, {nan_value, 1})));
  EXPECT_FALSE(surely_equal(of(DType::float64, {nan_value, 1}), of(DType::float32, {1, 1})));
  EXPECT_FALSE(surely_equal(of(DType::float64, {0.5, 1}), of(DType::float32, {nan_value, 1})));
  EXPECT_FALSE(surely_equal(of(DType::float64, {0.5, 1}), of(DType::float32, {0.5, 1 + 0x1p-23})));
}

// Rows and columns that are small beside the others, by which what sums may err by is guessed.
TEST(Rounding, ExplainsNoSliceOfWhichNothingIsLeft) {
  constexpr std::int64_t rows = 1000;
  constexpr std::int64_t columns = 1000;
  constexpr std::int64_t small_row = 7;
  constexpr std::int64_t small_column = 5;
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  const auto is_small = [](std::int64_t k) { return k / columns == small_row || k % columns == small_column; };
  std::vector<double> values(rows * columns);
  for (std::int64_t k = 0; k < std::ssize(values); ++k)
    values[static_cast<std::size_t>(k)] = normal(random) * (is_small(k) ? 1e-5 : 1);
  const Tensor bench = of(DType::float64, values);
  ErrorBudget budget;
  budget.longest = 4096;
  const auto explained = [&](const auto& change) {
    std::vector<double> device = values;
    for (std::int64_t k = 0; k < std::ssize(values); ++k)
      device[static_cast<std::size_t>(k)] = change(k, values[static_cast<std::size_t>(k)]);
    const auto shaped = [&](const Tensor& tensor) { return tensor.reshape(Dims{rows / 10, 10, columns}); };
    const Tensor found = shaped(of(DType::float32, device));
    const bool by_screen = surely_rounding_of_sums(shaped(bench), found, budget.longest);
    EXPECT_EQ(fit_rounding(shaped(bench), found, budget).explained(), by_screen);
    return by_screen;
  };
  EXPECT_TRUE(explained([](std::int64_t, double value) { return value; }));
  EXPECT_TRUE(explained([](std::int64_t k, double value) { return value + (k % 3 == 0 ? 2e-6 : -1e-6); }));
  EXPECT_FALSE(explained([](std::int64_t k, double value) { return k / columns == small_row ? -value : value; }));
  EXPECT_FALSE(explained([](std::int64_t k, double value) { return k % columns == small_column ? 0 : value; }));
  // Elements here and there may be what is left of large terms.
  EXPECT_TRUE(
      explained([](std::int64_t k, double value) { return k % columns == k / columns ? value + 2e-6 : value; }));
  // Nothing is guessed of terms that are known.
  std::vector<double> shrunk = values;
  for (std::int64_t k = 0; k < columns; ++k) shrunk[static_cast<std::size_t>(small_row * columns + k)] *= 0.4;
  budget.spread = Tensor::full(DType::float64, bench.shape(), 1);
  EXPECT_TRUE(fit_rounding(bench, of(DType::float32, shrunk), budget).explained());
}

TEST(Rounding, TheOtherNeighbourIsNoRoundingToNearest) {
  ErrorBudget budget;
  budget.longest = 1;
  // 1 + 0.3 ULP of bfloat16.
  const double exact = 1 + 0.3 * 0x1p-7;
  EXPECT_EQ(fit({exact}, {1 + 0x1p-7}, DType::bfloat16, budget).misrounded, 0) << "it is not asked for";
  budget.nearest = true;
  EXPECT_EQ(fit({exact}, {1}, DType::bfloat16, budget).misrounded, 0);
  const RoundingFit up = fit({exact, 4}, {1 + 0x1p-7, 4}, DType::bfloat16, budget);
  EXPECT_TRUE(up.explained());
  EXPECT_EQ(up.misrounded, 1);
  EXPECT_TRUE(up.is_misrounded.at(0));
  // In the middle both are, within what sums may do to the value before it is rounded.
  const double middle = 1 + (0.5 - 0x1p-16) * 0x1p-7;
  EXPECT_EQ(fit({middle}, {1 + 0x1p-7}, DType::bfloat16, budget).misrounded, 0);
}

TEST(Rounding, WhatJumpsIsOneOrTheOther) {
  ErrorBudget budget;
  budget.longest = 1;
  // The other side of a step, and an infinity inside.
  budget.with_stored = of(DType::float32, {0, infinity, nan_value, 5});
  EXPECT_TRUE(fit({1, 2, 3, 5}, {0, infinity, nan_value, 5}, DType::float32, budget).explained());
  EXPECT_TRUE(fit({1, 2, 3, 5}, {1, 2, 3, 5}, DType::float32, budget).explained());
  EXPECT_EQ(fit({1, 2, 3, 5}, {-1, 1, 4, 5}, DType::float32, budget).beyond, 3);
  EXPECT_EQ(fit({1, 2, 3, 5}, {0.5, -infinity, infinity, 5}, DType::float32, budget).beyond, 3);
}

TEST(Rounding, NoiseOfSoundArithmeticIsExplained) {
  NoiseEstimate estimate({2});
  estimate.add(of(DType::float64, {1, 1}), of(DType::float32, {1 + 0x1p-12, 1}));
  estimate.add(of(DType::float64, {1, 1}), of(DType::float32, {1 - 0x1p-12, nan_value}));
  EXPECT_NEAR(estimate.noise().data<double>()[0], 0x1p-12, 0x1p-30);
  EXPECT_DOUBLE_EQ(estimate.noise().data<double>()[1], 0);
  ErrorBudget budget;
  budget.longest = 1;
  budget.noise = of(DType::float64, {0x1p-12, 0, 0});
  EXPECT_EQ(fit({1, 1, 1}, {1 + 3 * 0x1p-12, 1 + 3 * 0x1p-12, 1}, DType::float32, budget).beyond, 1);
  EXPECT_EQ(fit({1, 1, 1}, {1 + 0x1p-7, 1, 1}, DType::float32, budget).beyond, 1);
}

class Patterns : public ::testing::Test {
 protected:
  Patterns() {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> uniform(0.5, 2);
    for (int i = 0; i < 64; ++i) bench_.push_back(uniform(random) * (i % 3 == 0 ? -1 : 1));
    device_ = bench_;
  }
  std::string pattern(DType dtype = DType::float32) const {
    const Tensor bench = of(DType::float64, bench_);
    const Tensor device = of(dtype, device_);
    const RoundingFit fit = fit_rounding(bench, device, {});
    return difference_pattern(bench, device, fit, {}, difference_of(bench, device, fit).map);
  }

  std::vector<double> bench_;
  std::vector<double> device_;
};

TEST_F(Patterns, RightResultsHaveNone) { EXPECT_EQ(pattern(), ""); }

TEST_F(Patterns, Flushed) {
  for (const std::size_t i : {3U, 9U}) bench_[i] = 1e-39;
  for (const std::size_t i : {3U, 9U}) device_[i] = 0;
  EXPECT_EQ(pattern(), "Denormals flushed: 2 elements below the smallest normal float32 are zero.");
  device_[20] = 0;
  EXPECT_EQ(pattern(), "");
}

TEST_F(Patterns, Zeros) {
  device_.assign(64, 0);
  EXPECT_EQ(pattern(), "The device's result is zero everywhere.");
  device_.assign(64, -1);
  EXPECT_NE(pattern(), "The device's result is zero everywhere.");
}

TEST_F(Patterns, NotFinite) {
  device_[5] = nan_value;
  EXPECT_EQ(pattern(), "1 element NaN where the benchmark is a number.");
  device_[40] = infinity;
  EXPECT_EQ(pattern(), "1 element NaN and 1 infinite where the benchmark is a number.");
}

TEST_F(Patterns, Signs) {
  for (const std::size_t i : {5U, 17U, 30U}) device_[i] = -device_[i];
  EXPECT_EQ(pattern(), "Right magnitudes with the opposite sign: 3 elements.");
  device_[5] *= 1.1;
  EXPECT_EQ(pattern().find("Right magnitudes"), std::string::npos);
  device_ = bench_;
  bench_[7] = infinity;
  device_[7] = -infinity;
  EXPECT_EQ(pattern(), "Sign of zero: 1 element infinite with the opposite sign.");
}

TEST_F(Patterns, Factor) {
  for (double& value : device_) value *= 8;
  EXPECT_EQ(pattern(), "Every element is 8 times the benchmark's.");
  device_[3] *= 1.01;
  EXPECT_EQ(pattern(), "All elements together are about 8 times the benchmark's.");
  for (std::size_t i = 0; i < device_.size(); i += 2) device_[i] *= 2;
  EXPECT_EQ(pattern(), "");
}

TEST_F(Patterns, Order) {
  std::rotate(device_.begin(), device_.begin() + 1, device_.end());
  EXPECT_EQ(pattern(), "The benchmark's values in another order.");
}

TEST_F(Patterns, Places) {
  device_[12] += 1;
  EXPECT_EQ(pattern(), "One element of 64 differs, at 12 of the row-major order.");
  for (std::size_t i = 13; i < 20; ++i) device_[i] += 0.3 * static_cast<double>(i);
  EXPECT_EQ(pattern(), "One contiguous block of elements differs: 12 to 19 of 64 in row-major order.");
  device_[50] += 1;
  EXPECT_EQ(pattern(), "");
}

TEST_F(Patterns, ErrorsAreAlikeWhereSizeAndShareAre) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 0.01);
  const auto noisy = [&](double scale) {
    std::vector<double> values = bench_;
    for (double& value : values) value += scale * normal(random);
    return values;
  };
  const Tensor bench = of(DType::float64, bench_);
  const auto alike = [&](const std::vector<double>& a, const std::vector<double>& b) {
    const Tensor device = of(DType::float32, a);
    const Tensor other = of(DType::float32, b);
    return same_error_distribution(bench, device, other, fit_rounding(bench, device, {}),
                                   fit_rounding(bench, other, {}));
  };
  EXPECT_TRUE(alike(noisy(1), noisy(1)));
  EXPECT_FALSE(alike(noisy(1), noisy(4)));
  EXPECT_FALSE(alike(noisy(4), noisy(1)));
  device_[3] += 1;
  EXPECT_FALSE(alike(device_, noisy(1)));
  // So few that the spread is chance, in number or as a share of all.
  const auto off = [&](std::size_t count, double error) {
    std::vector<double> values = bench_;
    for (std::size_t i = 0; i < count; ++i) values[i] += error;
    return values;
  };
  EXPECT_TRUE(alike(off(32, 0.1), off(32, 0.1)));
  EXPECT_FALSE(alike(off(31, 0.1), off(31, 0.1)));
  EXPECT_FALSE(alike(off(64, 0.1), off(31, 0.1))) << "another number";
  // Of one size with another maximum, and the other way round.
  std::vector<double> peaked = off(64, 0.1);
  peaked[0] += 0.2;
  EXPECT_FALSE(alike(off(64, 0.1), peaked));
  std::vector<double> small = off(64, 0.001);
  small[0] = peaked[0];
  EXPECT_FALSE(alike(small, peaked));
  bench_.resize(400, 1);
  EXPECT_TRUE(alike(off(40, 0.1), off(40, 0.1)));
  EXPECT_FALSE(alike(off(39, 0.1), off(39, 0.1)));
}

}  // namespace
}  // namespace msrun
