// The generator vectors and the table of measured tensors of acc_check_pytorch.md 6.1 and 6.3.
#include "kernels/tensor/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/error.h"

namespace msrun {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> torch_values(DType dtype, const Dims& shape, const ValueRange& range) {
  MersenneTwister words(1234);
  const Tensor tensor = random_tensor(dtype, shape, range, words, RangeRule::torch);
  EXPECT_EQ(words.position(), random_words_needed(dtype, shape, range));
  std::vector<double> result;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) result.push_back(tensor.item(i));
  return result;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double relative = 1e-7) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << i;
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(actual[i], expected[i]) << i;
    } else {
      EXPECT_NEAR(actual[i], expected[i], relative * std::abs(expected[i])) << i;
    }
  }
}

// What is drawn has the bits of its formula, every step rounded, on processors with a fused multiply-add, too. Of a
// scale that overflows the dtype the formula is low * (1 - r) + high * r; r is what the same words give between 0
// and 1.
TEST(RandomTensor, NoStepIsFusedWithAnother) {
  for (const DType dtype : {DType::float64, DType::float32}) {
    const double most = dtype == DType::float64 ? std::numeric_limits<double>::max()
                                                : static_cast<double>(std::numeric_limits<float>::max());
    ValueRange unit;
    unit.min = 0;
    unit.max = 1;
    ValueRange wide;
    wide.min = -0.9 * most;
    wide.max = 0.7 * most;
    const Dims shape{4096};
    MersenneTwister first(7);
    MersenneTwister second(7);
    const Tensor shares = random_tensor(dtype, shape, unit, first, RangeRule::finite);
    const Tensor drawn = random_tensor(dtype, shape, wide, second, RangeRule::finite);
    // The ends are the recorded extrema.
    for (std::int64_t i = 1; i + 1 < drawn.numel(); ++i) {
      const volatile double share = shares.item(i);
      const volatile double below = *wide.min * (1 - share);
      const volatile double above = *wide.max * share;
      const double value = below + above;
      ASSERT_EQ(drawn.item(i), dtype == DType::float64 ? value : static_cast<double>(static_cast<float>(value))) << i;
    }
  }
}

TEST(MersenneTwister, FirstWordsOfSeed1234) {
  MersenneTwister generator(1234);
  std::vector<std::uint32_t> words(6);
  generator.fill(words);
  EXPECT_THAT(words,
              ::testing::ElementsAre(822569775U, 2137449171U, 2671936806U, 3512589365U, 1880026316U, 2629000564U));
}

TEST(MersenneTwister, DiscardSkipsWords) {
  MersenneTwister walked(1234);
  MersenneTwister skipped(1234);
  std::vector<std::uint32_t> words(2000);
  walked.fill(words);
  skipped.discard(1999);
  std::vector<std::uint32_t> last(1);
  skipped.fill(last);
  EXPECT_EQ(last[0], words[1999]);
  EXPECT_EQ(skipped.position(), 2000U);
}

// Known answer of the authors' test file for key and counter zero: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
TEST(Philox, KnownAnswer) {
  Philox generator(0);
  std::vector<std::uint32_t> words(64);
  generator.fill(words);
  EXPECT_EQ(words[0], 0x6627e8d5U);
  EXPECT_EQ(words[16], 0xe169c58dU);
  EXPECT_EQ(words[32], 0xbc57ac4cU);
  EXPECT_EQ(words[48], 0x9b00dbd8U);
}

TEST(Philox, DoesNotDependOnHowItIsRead) {
  Philox whole(99);
  Philox pieces(99);
  std::vector<std::uint32_t> a(500);
  std::vector<std::uint32_t> b(500);
  whole.fill(a);
  for (std::size_t start = 0; start < b.size(); start += 7) {
    pieces.fill(std::span(b).subspan(start, std::min<std::size_t>(7, b.size() - start)));
  }
  EXPECT_EQ(a, b);
}

TEST(RandomKey, SeparatesNamesAndArguments) {
  EXPECT_NE(random_key(1234, "Torch.add.0", "args.0"), random_key(1234, "Torch.add.0", "args.1"));
  EXPECT_NE(random_key(1234, "Torch.add.0", "args.0"), random_key(1234, "Torch.add.1", "args.0"));
  EXPECT_NE(random_key(1234, "ab", "c"), random_key(1234, "a", "bc"));
  EXPECT_NE(random_key(1, "a", "b"), random_key(2, "a", "b"));
}

TEST(RandomTensor, MeasuredTable) {
  expect_near(torch_values(DType::float32, {2, 3}, {-1, 1.5, {}, {}}),
              {-1, 0.004746437, -0.35038954, -0.08339667, -0.85424817, 1.5});
  expect_near(torch_values(DType::float16, {2, 3}, {-1, 1.5, {}, {}}),
              {-1, -0.1171875, 0.609375, 0.31445312, 0.49902344, 1.5});
  expect_near(torch_values(DType::bfloat16, {6}, {-1, 1.5, {}, {}}),
              {-1, 1.0625, -0.62890625, -0.484375, 0.9921875, 1.5});
  expect_near(torch_values(DType::float64, {4}, {-1, 1.5, {}, {}}), {-1, -0.8031153466, 0.1660154010, 1.5}, 1e-9);
  expect_near(torch_values(DType::float32, {}, {-1, 1.5, {}, {}}), {1.5});
  expect_near(torch_values(DType::float32, {3}, {nan, nan, {}, {}}), {nan, nan, nan});
  expect_near(torch_values(DType::float32, {3, 2}, {-1, inf, {}, {}}), {inf, inf, inf, inf, -1, -1});
  expect_near(torch_values(DType::float32, {4}, {-inf, 1, {}, {}}), {-inf, -2.0352335e38, -2.5186197e38, 1});
  expect_near(torch_values(DType::float32, {4}, {-1, inf, {}, 2}), {-1, 0.20569563, -0.22046745, inf});
  expect_near(torch_values(DType::float32, {4}, {-1, nan, -1, 2}), {-1, nan, -0.22046745, 2});
  expect_near(torch_values(DType::float16, {6}, {-65504, 65504, {}, {}}), {-65504, inf, inf, inf, inf, 65504});
  expect_near(torch_values(DType::float32, {4}, {2, -1, {}, {}}), {2, 0.79430437, 1.2204674, -1});
  expect_near(torch_values(DType::int64, {5}, {-2, 9, {}, {}}), {-2, 1, 4, 3, 9});
  expect_near(torch_values(DType::int64, {4}, {-2.7, 9.7, {}, {}}), {-2, 1, 4, 9});
  expect_near(torch_values(DType::uint8, {5}, {0, 255, {}, {}}), {0, 211, 38, 53, 255});
  expect_near(torch_values(DType::boolean, {6}, {0, 1, {}, {}}), {1, 1, 0, 1, 0, 0});
}

TEST(RandomTensor, IntegerVectors) {
  EXPECT_THAT(torch_values(DType::int64, {3}, {0, 0x1p40, {}, {}})[1], 166710909360);
  const std::vector<double> small = torch_values(DType::int64, {6}, {-3, 7, {}, {}});
  EXPECT_THAT(std::vector<double>(small.begin() + 1, small.end() - 1), ::testing::ElementsAre(-3, -3, 7, 0));
}

TEST(RandomTensor, WithoutStatisticsIsASkip) {
  MersenneTwister words(1234);
  try {
    random_tensor(DType::float32, Dims{1, 2}, {}, words);
    FAIL();
  } catch (const SkipError& error) {
    EXPECT_STREQ(error.what(), "Data info Min: None , Max: None, info type must be int or float.");
  }
  EXPECT_THROW(random_tensor(DType::int64, Dims{3}, {0, nan, {}, {}}, words), SkipError);
  EXPECT_THROW(random_tensor(DType::int64, Dims{4}, {2, -1, {}, {}}, words), SkipError);
  EXPECT_THROW(random_tensor(DType::complex64, Dims{4}, {0, 1, {}, {}}, words), SkipError);
}

TEST(RandomTensor, EmptyNeedsNoStatistics) {
  MersenneTwister words(1234);
  EXPECT_EQ(random_tensor(DType::float32, Dims{0, 2}, {}, words).numel(), 0);
  EXPECT_EQ(random_tensor(DType::int64, Dims{0}, {}, words).numel(), 0);
}

TEST(RandomTensor, WideRangesStayFinite) {
  Philox words(5);
  const Tensor tensor = random_tensor(DType::float16, Dims{1000}, {-65504, 65504, {}, {}}, words);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) ASSERT_TRUE(std::isfinite(tensor.item(i)));
  EXPECT_EQ(tensor.item(0), -65504);
  EXPECT_EQ(tensor.item(999), 65504);
  const Tensor wide = random_tensor(DType::float32, Dims{1000}, {-3e38, 3e38, {}, {}}, words);
  for (std::int64_t i = 0; i < wide.numel(); ++i) ASSERT_TRUE(std::isfinite(wide.item(i)));
}

}  // namespace
}  // namespace msrun
