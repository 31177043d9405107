// numpy_uniform(), apart from the other random data: intrinsics must not be included here. Behind their headers GCC
// goes on with the options of the precompiled header, and would contract what -ffp-contract=off keeps apart.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "kernels/base/error.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

constexpr std::int64_t block = 1024;

// The half nearest to a double, rounded once: to odd on the way through float, which a rounding to nearest may follow.
double nearest_half(double value) {
  const auto narrow = static_cast<float>(value);
  float odd = narrow;
  if (std::isfinite(narrow) && static_cast<double>(narrow) != value) {
    const bool is_above = std::abs(static_cast<double>(narrow)) > std::abs(value);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(narrow) - (is_above ? 1U : 0U);
    odd = std::bit_cast<float>(bits | 1U);
  }
  return static_cast<double>(as_half(odd));
}

// What C's conversion of a double to a 32-bit integer gives on the machines that numpy runs on.
double cast_to_int32(double value) {
  constexpr double limit = 0x1p31;
  const double whole = std::trunc(value);
  return whole >= -limit && whole < limit ? whole : -limit;
}

}  // namespace

Tensor numpy_uniform(DType dtype, std::span<const std::int64_t> shape, double min, double max, std::uint32_t seed) {
  const double range = max - min;
  if (dtype != DType::boolean && !std::isfinite(range)) throw SkipError("Range exceeds valid bounds");
  Tensor tensor(dtype, shape);
  MersenneTwister words(seed);
  std::array<std::uint32_t, 2 * block> raw;
  std::array<double, block> values;
  std::byte* target = tensor.mutable_data<std::byte>();
  for (std::int64_t start = 0; start < tensor.numel(); start += block) {
    const std::int64_t count = std::min(block, tensor.numel() - start);
    words.fill(std::span(raw.data(), static_cast<std::size_t>(2 * count)));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(2 * i);
      const double draw =
          (static_cast<double>(raw[at] >> 5) * 67108864.0 + static_cast<double>(raw[at + 1] >> 6)) / 9007199254740992.0;
      double& value = values[static_cast<std::size_t>(i)];
      value = dtype == DType::boolean ? static_cast<double>(draw > 0.5) : min + range * draw;
      if (dtype == DType::float16) value = nearest_half(value);
      if (is_integer(dtype) && dtype != DType::int64) value = cast_to_int32(value);
    }
    store_run(dtype, values.data(), count, target + start * static_cast<std::int64_t>(size_of(dtype)));
  }
  return tensor;
}

}  // namespace msrun
