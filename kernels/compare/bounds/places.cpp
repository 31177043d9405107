// The places that the numbers of a floating dtype have.
#include <bit>
#include <cstdint>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/compare/bounds/rounding_terms.h"

namespace msrun {
namespace {

int smallest_exponent(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::float8_e5m2:
      return -14;
    case DType::float8_e4m3fn:
      return -6;
    case DType::float64:
      return -1022;
    default:
      return -126;
  }
}

}  // namespace

double smallest_normal(DType dtype) {
  constexpr int bias = 1023;
  constexpr int fraction_bits = 52;
  return std::bit_cast<double>(static_cast<std::uint64_t>(smallest_exponent(dtype) + bias) << fraction_bits);
}

double unit_in_last_place(DType dtype, double value) { return rounding::Units(dtype).at(value); }

}  // namespace msrun
