// What a few elements of a result may err more than the samples of its noise have shown.
#include "runner/judge/noise.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace msrun {
namespace {

TEST(Outliers, AreFew) {
  EXPECT_EQ(most_outliers(1), 1);
  EXPECT_EQ(most_outliers(249), 1);
  EXPECT_EQ(most_outliers(4096), 17);
}

TEST(Outliers, ErrByFourTimesTheirNoiseOrAThirdOfAPlace) {
  constexpr std::array noise{0.0, 0.5, 0x1p-10};
  constexpr std::array bench{1.0, 1.0, 4.0};
  const auto tensor = [](const std::array<double, 3>& values) {
    return Tensor::from<double>(DType::float64, Dims{3}, std::span<const double>(values));
  };
  const Tensor of_outliers = noise_of_outliers(tensor(noise), tensor(bench), DType::bfloat16);
  EXPECT_DOUBLE_EQ(of_outliers.item(0), 0x1p-7 / 3);
  EXPECT_DOUBLE_EQ(of_outliers.item(1), 2);
  EXPECT_DOUBLE_EQ(of_outliers.item(2), 0x1p-5 / 3);
}

TEST(ManyValues, AreDifferentMagnitudes) {
  Tensor values = Tensor::zeros(DType::float64, Dims{100'000});
  double* to = values.mutable_data<double>();
  EXPECT_FALSE(has_many_values(values));
  for (std::int64_t i = 0; i < values.numel(); ++i) to[i] = static_cast<double>(i % 31) * (i % 2 == 0 ? 1 : -1);
  EXPECT_FALSE(has_many_values(values));
  for (std::int64_t i = 0; i < values.numel(); ++i) to[i] = static_cast<double>(i % 50'000 / 1500);
  EXPECT_TRUE(has_many_values(values));
  EXPECT_FALSE(has_many_values(Tensor::full(DType::bfloat16, Dims{64}, std::numeric_limits<double>::infinity())));
}

Tensor two_rows(const std::array<double, 4>& values) {
  return Tensor::from<double>(DType::float64, Dims{2, 2}, std::span<const double>(values));
}

TEST(NoiseOfFewSamples, IsNowhereFarBelowThatOfItsRow) {
  const Tensor noise = steadied(two_rows({0, 2, 5, 5}));
  EXPECT_DOUBLE_EQ(noise.item(0), 1);
  EXPECT_DOUBLE_EQ(noise.item(1), std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(noise.item(2), 5);
  EXPECT_DOUBLE_EQ(noise.item(3), 5);
}

TEST(NoiseOfManyElements, GrowsWithTheLargestOfThem) {
  const Tensor few = Tensor::full(DType::float64, Dims{4096}, 2.0);
  EXPECT_DOUBLE_EQ(noise_of_many(few, few, DType::bfloat16).item(4095), 2);
  const Tensor many = Tensor::full(DType::float64, Dims{1 << 18}, 2.0);
  EXPECT_DOUBLE_EQ(noise_of_many(many, many, DType::bfloat16).item(7), 2 * std::sqrt(18.0 / 12.0));
}

// A place of bfloat16 at 1 is 2^-7.
TEST(NoiseOfManyElements, IsThatOfAQuarterWhereChanceLeavesNone) {
  const Tensor bench = two_rows({1, 1, 1, 4});
  const Tensor noise = noise_of_many(two_rows({0x1p-10, 0, 0x1p-9, 0}), bench, DType::bfloat16);
  EXPECT_DOUBLE_EQ(noise.item(0), 0x1p-9);
  EXPECT_DOUBLE_EQ(noise.item(2), 0x1p-9);
  EXPECT_DOUBLE_EQ(noise.item(3), 0x1p-7);
  // What errs by many places gives the others no more than one step.
  const Tensor large = noise_of_many(two_rows({1, 1, 1, 0}), bench, DType::bfloat16);
  EXPECT_DOUBLE_EQ(large.item(2), 1);
  EXPECT_DOUBLE_EQ(large.item(3), 0x1p-5 / std::sqrt(12.0));
  // All but a few elements have none.
  Tensor one = Tensor::zeros(DType::float64, Dims{2, 4});
  one.mutable_data<double>()[0] = 1;
  const Tensor single = noise_of_many(one, bench, DType::bfloat16);
  EXPECT_DOUBLE_EQ(single.item(0), 1);
  EXPECT_DOUBLE_EQ(single.item(3), 0);
}

TEST(NoiseOfTwoWays, IsTheLarger) {
  const Tensor larger = larger_noise(two_rows({0, 2, 5, 1}), two_rows({1, 1, 6, 0}));
  EXPECT_EQ(larger.item(0), 1);
  EXPECT_EQ(larger.item(1), 2);
  EXPECT_EQ(larger.item(2), 6);
  EXPECT_EQ(larger.item(3), 1);
  EXPECT_FALSE(larger_noise(two_rows({0, 0, 0, 0}), {}).defined());
}

TEST(UnmeasuredSteps, ErrByHalfAUnitOfRoundingOfTheirRow) {
  const Tensor noise = noise_of_unmeasured_steps(
      two_rows({3, -4, std::numeric_limits<double>::infinity(), 1}).to(DType::float32), DType::bfloat16);
  EXPECT_DOUBLE_EQ(noise.item(0), 0x1p-8 * std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(noise.item(1), noise.item(0));
  EXPECT_DOUBLE_EQ(noise.item(3), 0x1p-8);
}

}  // namespace
}  // namespace msrun
