// Products of sizes that recordings and files state.
#pragma once

#include <cstdint>
#include <limits>

namespace msrun {

// The largest number where 64 bits cannot hold the product.
constexpr std::uint64_t saturated_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

}  // namespace msrun
