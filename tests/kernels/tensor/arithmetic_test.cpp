// Faulty arithmetic, step by step: what accumulators hold and what is stored.
#include "kernels/tensor/arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/tensor/complex.h"
#include "kernels/tensor/convert.h"
#include "tests/support/tensor_values.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using testing::values;

TEST(Accumulators, HoldWhatTheirFormatHolds) {
  // Between 2048 and 2050 (float16), 256 and 258 (bfloat16), 2^24 and 2^24 + 2 (float32).
  EXPECT_EQ(accumulate<Accumulator::float16>(2048, 1), 2048);
  EXPECT_EQ(accumulate<Accumulator::bfloat16>(256, 1), 256);
  EXPECT_EQ(accumulate<Accumulator::bfloat16>(255, 1), 256);
  EXPECT_EQ(accumulate<Accumulator::wide>(0x1p24F, 3), 0x1p24F + 4);
  EXPECT_EQ(accumulate<Accumulator::truncated_float32>(0x1p24F, 3), 0x1p24F + 2);
  EXPECT_EQ(accumulate<Accumulator::truncated_float32>(-0x1p24F, -3), -0x1p24F - 2);
  EXPECT_EQ(held<Accumulator::wide>(1 + 0x1p-40), 1 + 0x1p-40);
  EXPECT_EQ(held<Accumulator::truncated_float32>(1 - 0x1p-40), 1 - 0x1p-24);
  EXPECT_EQ(held<Accumulator::bfloat16>(1 + 0x1p-9), 1);
  EXPECT_EQ(held<Accumulator::float16>(1 + 0x1p-9), 1 + 0x1p-9);
  EXPECT_TRUE(std::signbit(held<Accumulator::float16>(-0.0)));
}

TEST(Accumulators, RoundFloatSumsOnly) {
  Arithmetic arithmetic;
  arithmetic.summation.accumulator = Accumulator::bfloat16;
  EXPECT_EQ(accumulator_of<float>(arithmetic), Accumulator::bfloat16);
  EXPECT_EQ(accumulator_of<double>(arithmetic), Accumulator::wide);
}

TEST(Truncation, NeverGrowsAndKeepsWhatIsExact) {
  EXPECT_EQ(truncated_to_float(1 + 0x1p-23), 1 + 0x1p-23F);
  EXPECT_EQ(truncated_to_float(1 + 0x1p-23 - 0x1p-50), 1);
  EXPECT_EQ(truncated_to_float(-1 - 0x1p-23 + 0x1p-50), -1);
  EXPECT_EQ(truncated_to_float(1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(truncated_to_float(-1e-300), 0);
  EXPECT_EQ(truncated_to_float(std::numeric_limits<double>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(truncated_to_float(std::nan(""))));
}

TEST(StoreRounding, CutsWhatIsStoredInANarrowerDtypeWhileItLives) {
  const std::vector<double> exact{1 + 0x1.8p-8, -1 - 0x1.8p-8, 0x1.8p-140, 1e39, 2.5};
  const Tensor wide = Tensor::from<double>(DType::float64, Dims{5}, exact);
  const double above = 1 + 0x1p-7;
  EXPECT_EQ(values(wide.to(DType::bfloat16))[0], above);
  const double largest = 0x1.FEp127;
  {
    const StoreRounding cut(true);
    EXPECT_THAT(values(wide.to(DType::bfloat16)), ElementsAre(1, -1, 0, largest, 2.5));
    EXPECT_THAT(
        values(Tensor::from<float>(DType::float32, Dims{1}, std::vector<float>{1 + 0x1.8p-10F}).to(DType::float16)),
        ElementsAre(1 + 0x1p-10));
    EXPECT_EQ(values(wide.to(DType::float32))[3], static_cast<double>(std::numeric_limits<float>::max()));
    const Tensor complex = complex_of(wide, wide).to(DType::complex64);
    EXPECT_EQ(values(imaginary_part(complex))[3], static_cast<double>(std::numeric_limits<float>::max()));
    // Constants are those of the program, which no device computes.
    EXPECT_EQ(Tensor::scalar(DType::bfloat16, 1 + 0x1.8p-8).item(), above);
    const StoreRounding nearest(false);
    EXPECT_EQ(values(wide.to(DType::bfloat16))[0], above);
  }
  EXPECT_EQ(values(wide.to(DType::bfloat16))[0], above);
}

TEST(RoundOperand, KeepsTheFractionBitsOfItsFormat) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor source =
      Tensor::from<float>(DType::float32, Dims{6},
                          std::vector<float>{1 + 0x1p-10F, 1 + 0x1p-11F, -1 - 0x1.8p-11F, 1 + 0x1p-12F, infinity, 0});
  const auto rounded = [&](OperandRounding rounding) { return values(round_operand(source, rounding)); };
  EXPECT_EQ(rounded(OperandRounding::none), values(source));
  EXPECT_THAT(rounded(OperandRounding::hf32),
              ElementsAre(1 + 0x1p-10, 1 + 0x1p-11, -1 - 0x1p-10, 1 + 0x1p-11, infinity, 0));
  EXPECT_THAT(rounded(OperandRounding::tf32), ElementsAre(1 + 0x1p-10, 1 + 0x1p-10, -1 - 0x1p-10, 1, infinity, 0));
  EXPECT_THAT(rounded(OperandRounding::truncated_tf32), ElementsAre(1 + 0x1p-10, 1, -1, 1, infinity, 0));
  EXPECT_TRUE(std::isnan(round_operand(Tensor::scalar(DType::float32, std::nan("")), OperandRounding::tf32).item()));
}

TEST(RoundOperand, ErrsByNoMoreThanItsRoundoff) {
  const Tensor one = Tensor::full(DType::float32, Dims{1}, 1 + 0x1.ffcp-11);
  for (const OperandRounding rounding :
       {OperandRounding::none, OperandRounding::hf32, OperandRounding::tf32, OperandRounding::truncated_tf32}) {
    const double error = std::abs(round_operand(one, rounding).item() - one.item());
    EXPECT_LE(error, roundoff_of_operand(rounding));
  }
  EXPECT_EQ(roundoff_of_operand(OperandRounding::hf32), 0x1p-12);
  EXPECT_EQ(roundoff_of_operand(OperandRounding::truncated_tf32), 0x1p-10);
}

TEST(Summation, DropsTheLastOfTwoOrMore) {
  const Summation dropping{.drops_last = true};
  EXPECT_EQ(dropping.used(0), 0);
  EXPECT_EQ(dropping.used(1), 1);
  EXPECT_EQ(dropping.used(2), 1);
  EXPECT_EQ(dropping.whole().used(2), 2);
  EXPECT_EQ(Summation{}.used(2), 2);
}

}  // namespace
}  // namespace msrun
