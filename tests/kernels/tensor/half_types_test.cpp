// Numbers as half types store them.
#include "kernels/tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

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

}  // namespace
}  // namespace msrun
