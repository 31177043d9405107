// Numbers as half types store them, and the numbers next to a number.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/numeric/roughness.h"
#include "kernels/tensor/dtype.h"

namespace msrun {
namespace {

// All bits of a float32 in strides that no power of two divides, and every bit around the ends of ranges.
template <class F>
void for_many_floats(const F& f) {
  constexpr std::uint64_t stride = 4099;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += stride) f(static_cast<std::uint32_t>(bits));
  for (const std::uint32_t end : {0x0U, 0x33000000U, 0x33800000U, 0x38800000U, 0x477FE000U, 0x477FF000U, 0x7F7F8000U,
                                  0x7F800000U, 0x7FC00000U, 0x7FFFFFFFU}) {
    for (std::uint32_t beside = 0; beside < 0x8000U; ++beside) {
      for (const std::uint32_t sign : {0U, 0x80000000U}) {
        f((end + beside) ^ sign);
        f((end - beside) ^ sign);
      }
    }
  }
}

TEST(HalfTypes, AreReachedWithAndWithoutTheir16Bits) {
  std::uint64_t differing = 0;
  for_many_floats([&](std::uint32_t bits) {
    const float value = std::bit_cast<float>(bits);
    const auto differ = [](float a, float b) {
      return std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b);
    };
    differing += differ(as_half(value), to_float(to_half(value))) ? 1 : 0;
    differing += differ(as_bfloat16(value), to_float(to_bfloat16(value))) ? 1 : 0;
  });
  EXPECT_EQ(differing, 0U);
}

template <class T>
class Neighbours : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Neighbours, Reals);

TYPED_TEST(Neighbours, AreTheNextNumbers) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  constexpr T infinity = Limits::infinity();
  for (const T size : {Limits::denorm_min(), Limits::min(), T{1}, T{1.5}, T{3}, Limits::max()}) {
    for (const T value : {size, -size}) {
      EXPECT_EQ(next_to(value, true, false), std::nextafter(value, infinity)) << value;
      EXPECT_EQ(next_to(value, false, true), std::nextafter(value, -infinity)) << value;
      EXPECT_EQ(next_to(value, false, false), value);
    }
  }
  for (const T value : {T{0}, -T{0}, infinity, -infinity}) {
    EXPECT_EQ(next_to(value, true, false), value);
    EXPECT_EQ(std::signbit(next_to(value, false, true)), std::signbit(value));
  }
  EXPECT_TRUE(std::isnan(next_to(Limits::quiet_NaN(), true, false)));
}

TYPED_TEST(Neighbours, AreTakenByASeed) {
  using T = TypeParam;
  int up = 0;
  int down = 0;
  int beside = 0;
  for (int i = 1; i <= 3000; ++i) {
    const T value = static_cast<T>(i) / 7;
    const T moved = off_by_a_place(value, 5);
    up += moved > value ? 1 : 0;
    down += moved < value ? 1 : 0;
    beside += a_place_beside(value, 5) > value ? 1 : 0;
  }
  EXPECT_NEAR(up, 1000, 300);
  EXPECT_NEAR(down, 1000, 300);
  EXPECT_NEAR(beside, 1500, 300);
}

}  // namespace
}  // namespace msrun
