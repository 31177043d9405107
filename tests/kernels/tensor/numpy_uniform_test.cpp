// numpy's uniform draws, seeded 42 for each tensor: the worked values of acc_check_mindspore.md 4.
#include <gmock/gmock.h>

#include <limits>

#include "kernels/base/error.h"
#include "kernels/tensor/mindspore_dtype.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;

std::vector<double> drawn(DType dtype, const Dims& shape, double min, double max) {
  const Tensor tensor = numpy_uniform(dtype, shape, min, max, 42);
  EXPECT_EQ(tensor.dtype(), dtype);
  EXPECT_EQ(tensor.shape(), shape);
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.item(i));
  return values;
}

TEST(NumpyUniform, HasTheBitsOfNumpy) {
  EXPECT_THAT(drawn(DType::float64, {5}, 0, 1), ElementsAre(0.3745401188473625, 0.9507143064099162, 0.7319939418114051,
                                                            0.5986584841970366, 0.15601864044243652));
  EXPECT_THAT(drawn(DType::float32, {2, 3}, -1, 1),
              ElementsAre(-0.25091975927352905, 0.9014286398887634, 0.46398788690567017, 0.197316974401474,
                          -0.6879627108573914, -0.6880109310150146));
  EXPECT_THAT(drawn(DType::float16, {2, 3}, -1, 1),
              ElementsAre(-0.2509765625, 0.9013671875, 0.4638671875, 0.197265625, -0.68798828125, -0.68798828125));
  EXPECT_THAT(drawn(DType::bfloat16, {4}, -2.5, 2.5), ElementsAre(-0.62890625, 2.25, 1.15625, 0.494140625));
}

TEST(NumpyUniform, TruncatesIntegersTowardZero) {
  EXPECT_THAT(drawn(DType::int64, {8}, 0, 5), ElementsAre(1, 4, 3, 2, 0, 0, 0, 4));
  EXPECT_THAT(drawn(DType::int64, {2, 4}, -7, 7), ElementsAre(-1, 6, 3, 1, -4, -4, -6, 5));
  EXPECT_THAT(drawn(DType::uint8, {4}, 0, 200), ElementsAre(74, 190, 146, 119));
  EXPECT_THAT(drawn(DType::int32, {1}, 4e9, 4e9), ElementsAre(-2147483648.0)) << "as x86 converts what does not fit";
}

TEST(NumpyUniform, TakesBoolsAboveOneHalfWhateverTheRange) {
  EXPECT_THAT(drawn(DType::boolean, {8}, 0, 0), ElementsAre(0, 1, 1, 1, 0, 0, 0, 1));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> many = drawn(DType::boolean, {1, 4096}, nan, nan);
  EXPECT_EQ(std::count(many.begin(), many.end(), 1.0), 2053);
}

TEST(NumpyUniform, HasConstantsScalarsAndNothing) {
  EXPECT_THAT(drawn(DType::float32, {2}, -2.5, -2.5), ElementsAre(-2.5, -2.5));
  EXPECT_THAT(drawn(DType::float32, {}, 0, 1), ElementsAre(0.37454012036323547));
  EXPECT_TRUE(drawn(DType::float32, {2, 0, 3}, 0, 1).empty());
}

// A fused multiply-add would give other bits than the product and the sum of numpy.
TEST(NumpyUniform, RoundsProductAndSum) {
  const std::vector<double> wide = drawn(DType::int64, {64}, -1e15, 1e15);
  EXPECT_EQ(wide[20], 223705789444759.0);
  EXPECT_EQ(wide[28], 184829137724085.0);
  EXPECT_EQ(wide[45], 325044568707964.0);
  EXPECT_EQ(wide[49], -630291088948946.0);
}

// numpy rounds a double to half at once: by way of float32 every few thousandth element would be another one.
TEST(NumpyUniform, RoundsHalvesOnce) {
  const std::int64_t count = 20000;
  const Tensor wide = numpy_uniform(DType::float64, Dims{count}, 1, 2, 42);
  const Tensor half = numpy_uniform(DType::float16, Dims{count}, 1, 2, 42);
  std::int64_t other_way = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double exact = wide.item(i);
    EXPECT_LE(std::abs(half.item(i) - exact), 0x1p-11) << i;
    const double by_float = static_cast<double>(to_float(to_half(static_cast<float>(exact))));
    if (by_float == half.item(i)) continue;
    ++other_way;
    EXPECT_LT(std::abs(half.item(i) - exact), std::abs(by_float - exact)) << i;
  }
  EXPECT_LT(other_way, 10);
}

TEST(NumpyUniform, RefusesRangesThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(drawn(DType::float32, {2}, -infinity, infinity), SkipError);
  EXPECT_THROW(drawn(DType::float32, {2}, 0, std::numeric_limits<double>::quiet_NaN()), SkipError);
  const double most = std::numeric_limits<double>::max();
  EXPECT_THROW(drawn(DType::float64, {2}, -most, most), SkipError);
  // Of a range that ends at the largest double nearly all is more than float32 has.
  EXPECT_EQ(drawn(DType::float32, {1}, -1, most)[0], infinity);
}

TEST(MindSporeDType, NamesAreThoseOfTheDumps) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_mindspore_dtype(mindspore_name(dtype)), dtype);
  }
  EXPECT_EQ(mindspore_name(DType::bfloat16), "BFloat16");
  EXPECT_EQ(parse_mindspore_dtype("UInt16"), std::nullopt);
  EXPECT_TRUE(is_checked_mindspore_dtype("UInt16"));
  EXPECT_TRUE(is_checked_mindspore_dtype("Int4"));
  EXPECT_FALSE(is_checked_mindspore_dtype("Complex64"));
  EXPECT_FALSE(is_checked_mindspore_dtype(""));
  EXPECT_EQ(checked_mindspore_dtypes(),
            "['Int8', 'UInt8', 'Int16', 'UInt16', 'Int32', 'UInt32', 'Int64', 'UInt64', 'Float16', 'Float32', "
            "'Float64', 'Bool', 'BFloat16', 'Int4']");
}

}  // namespace
}  // namespace msrun
