// What exactly each fault of stored tensors changes.
#include "runner/device/sim/damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "kernels/tensor/complex.h"
#include "runner/device/sim/faults.h"
#include "tests/support/tensor_values.h"

namespace msrun {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::values;

// 1, 2, 3, ...
Tensor counting(DType dtype, std::initializer_list<std::int64_t> shape) {
  const Tensor like(DType::float64, shape);
  std::vector<double> numbers(static_cast<std::size_t>(like.numel()));
  std::iota(numbers.begin(), numbers.end(), 1);
  return Tensor::from<double>(DType::float64, like.shape(), numbers).to(dtype);
}

Tensor damaged(const char* fault, const Tensor& tensor, std::string_view call = "Torch.add.0") {
  const SimFault parsed = parse_sim_fault(std::string("*=") + fault);
  const Tensor result = kind_of(parsed).damage(tensor, parsed, call);
  EXPECT_EQ(result.dtype(), tensor.dtype()) << fault;
  EXPECT_EQ(result.shape(), tensor.shape()) << fault;
  EXPECT_TRUE(result.is_contiguous()) << fault;
  return result;
}

// Indices of a row-major walk at which the bytes differ.
std::vector<std::int64_t> places(const Tensor& before, const Tensor& after) {
  const std::size_t size = size_of(before.dtype());
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < before.numel(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(before.raw() + at, after.raw() + at, size) != 0) result.push_back(i);
  }
  return result;
}

std::vector<std::int64_t> range(std::int64_t start, std::int64_t end) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(end - start));
  std::iota(result.begin(), result.end(), start);
  return result;
}

constexpr std::array floats{DType::float32, DType::float64, DType::float16, DType::bfloat16};

TEST(Damage, OneElementOrOnePieceIsOff) {
  for (const DType dtype : floats) {
    const Tensor x = counting(dtype, {20, 10});
    EXPECT_EQ(places(x, damaged("wrong-element", x)).size(), 1U);
    const auto block = places(x, damaged("wrong-block", x));
    EXPECT_EQ(block, range(block.front(), block.front() + 25));
  }
  const Tensor flags = Tensor::full(DType::boolean, Dims{40}, 1);
  EXPECT_EQ(places(flags, damaged("wrong-element", flags)).size(), 1U);
  // The place is the call's.
  const Tensor x = counting(DType::float32, {1000});
  EXPECT_NE(places(x, damaged("wrong-element", x)), places(x, damaged("wrong-element", x, "Torch.add.1")));
}

TEST(Damage, AnElementWithoutRoomAboveItIsOffAsWell) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const DType dtype : floats) {
    for (const double value : {infinite, -infinite, std::nan("")}) {
      const Tensor x = Tensor::full(dtype, Dims{40}, value);
      const auto changed = places(x, damaged("wrong-element", x));
      ASSERT_EQ(changed.size(), 1U) << name(dtype) << value;
      EXPECT_TRUE(std::isfinite(values(damaged("wrong-element", x)).at(static_cast<std::size_t>(changed.front()))));
    }
  }
  const std::map<DType, double> largest{{DType::uint8, 255},
                                        {DType::int8, 127},
                                        {DType::int16, 32767},
                                        {DType::int32, 0x1p31 - 1},
                                        {DType::int64, 0x1p62}};
  for (const auto& [dtype, value] : largest) {
    const Tensor x = Tensor::full(dtype, Dims{40}, value);
    EXPECT_EQ(places(x, damaged("wrong-element", x)).size(), 1U) << name(dtype);
    EXPECT_EQ(places(x, damaged("wrong-block", x)).size(), 5U) << name(dtype);
  }
}

TEST(Damage, TheTailIsTheLastTile) {
  for (const char* fault : {"wrong-tail", "nan-tail"}) {
    for (const DType dtype : floats) {
      const Tensor partial = counting(dtype, {3, 100});
      EXPECT_EQ(places(partial, damaged(fault, partial)), range(256, 300)) << fault;
    }
    const Tensor whole = counting(DType::float32, {2, 128});
    EXPECT_EQ(places(whole, damaged(fault, whole)), range(128, 256)) << fault;
    const Tensor one = counting(DType::float32, {});
    EXPECT_EQ(places(one, damaged(fault, one)), range(0, 1)) << fault;
  }
  const Tensor x = counting(DType::bfloat16, {130});
  EXPECT_TRUE(std::isnan(damaged("nan-tail", x).item(129)));
  EXPECT_GE(damaged("wrong-tail", x).item(129), 2 * x.item(129));
}

TEST(Damage, EveryKthOfNBlocksIsOff) {
  const Tensor x = counting(DType::float32, {8, 10});
  const auto of = [&](const char* fault) { return places(x, damaged(fault, x)); };
  std::vector<std::int64_t> expected = range(15, 20);
  for (const std::int64_t start : {35, 55, 75}) {
    for (std::int64_t i = start; i < start + 5; ++i) expected.push_back(i);
  }
  EXPECT_EQ(of("wrong-core=4/16"), expected);
  EXPECT_EQ(of("wrong-core=16/16"), range(75, 80));
  EXPECT_EQ(of("wrong-core=1/16"), range(0, 80));
  // Blocks of 27, 27 and 26.
  EXPECT_EQ(of("wrong-core=3/3"), range(54, 80));
  EXPECT_EQ(of("wrong-core=2/3"), range(27, 54));
  // Blocks of one element, of which the hundredth does not exist.
  EXPECT_TRUE(of("wrong-core=100/100").empty());
}

TEST(Damage, AScaleIsThatOfEveryElement) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = counting(dtype, {3, 5});
    const auto after = values(damaged("scale=1.001", x));
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_NEAR(after[i], 1.001 * static_cast<double>(i + 1), 1e-6 * static_cast<double>(i + 1));
  }
  EXPECT_THAT(values(damaged("scale=-2", counting(DType::float16, {3}))), ElementsAre(-2, -4, -6));
  EXPECT_THAT(values(damaged("scale=0", counting(DType::float16, {3}))), Each(0));
  EXPECT_THAT(values(damaged("gradient-sign", counting(DType::bfloat16, {3}))), ElementsAre(-1, -2, -3));
}

TEST(Damage, TransposedMatricesKeepTheirShape) {
  EXPECT_THAT(values(damaged("transposed", counting(DType::float16, {2, 3}))), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(values(damaged("transposed", counting(DType::float32, {2, 2, 2}))), ElementsAre(1, 3, 2, 4, 5, 7, 6, 8));
  EXPECT_THAT(values(damaged("transposed", counting(DType::float32, {3}))), ElementsAre(1, 2, 3));
}

TEST(Damage, TwoNeighbouringRowsAreExchanged) {
  for (const DType dtype : floats) {
    const Tensor x = counting(dtype, {2, 5, 3});
    const Tensor after = damaged("swapped-rows", x);
    const auto changed = places(x, after);
    ASSERT_EQ(changed.size(), 6U);
    EXPECT_EQ(changed, range(changed[0], changed[0] + 6));
    EXPECT_EQ(changed[0] % 3, 0);
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(after.item(changed[0] + i), x.item(changed[0] + 3 + i));
      EXPECT_EQ(after.item(changed[0] + 3 + i), x.item(changed[0] + i));
    }
  }
  const Tensor vector = counting(DType::float32, {2});
  EXPECT_THAT(values(damaged("swapped-rows", vector)), ElementsAre(2, 1));
  const Tensor row = counting(DType::float32, {1, 4});
  EXPECT_TRUE(places(row, damaged("swapped-rows", row)).empty());
}

TEST(Damage, AnEighthHoldsForeignBytes) {
  for (const DType dtype : floats) {
    const Tensor x = counting(dtype, {8, 20});
    const auto changed = places(x, damaged("uninitialised", x));
    EXPECT_GE(changed.size(), 18U);  // a byte or two may be right by chance
    EXPECT_LT(changed.back() - changed.front(), 20);
    EXPECT_EQ(changed, places(x, damaged("uninitialised", x)));
  }
}

TEST(Damage, OfComplexTensors) {
  const Tensor part = counting(DType::float32, {2, 3});
  const Tensor x = complex_of(part, part);
  EXPECT_EQ(x.dtype(), DType::complex64);
  EXPECT_THAT(values(imaginary_part(damaged("scale=2", x))), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(values(real_part(damaged("gradient-sign", x))), ElementsAre(-1, -2, -3, -4, -5, -6));
  EXPECT_THAT(values(imaginary_part(damaged("transposed", x))), ElementsAre(1, 4, 2, 5, 3, 6));
  for (const char* fault : {"wrong-tail", "nan-tail", "wrong-core=1/2", "wrong-block"}) {
    EXPECT_THAT(values(imaginary_part(damaged(fault, x))), ElementsAre(1, 2, 3, 4, 5, 6)) << fault;
    EXPECT_FALSE(places(x, damaged(fault, x)).empty()) << fault;
  }
  EXPECT_EQ(places(x, damaged("swapped-rows", x)), range(0, 6));
}

}  // namespace
}  // namespace msrun
