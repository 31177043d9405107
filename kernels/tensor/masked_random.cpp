#include "kernels/tensor/masked_random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

constexpr std::int64_t known_elements = 2;  // the first and the last one

// From which magnitude on a number is one that masks are made of.
double least_mask(DType dtype) {
  constexpr double least = 1e30;
  return std::min(least, max_finite(dtype));
}

bool is_mask(DType dtype, double value) { return std::abs(value) >= least_mask(dtype); }

// False for NaN.
bool is_ordinary(DType dtype, double value) {
  constexpr double margin = 16;
  return std::abs(value) <= least_mask(dtype) / margin;
}

double share_of_masked(double mask, std::optional<double> mean, std::int64_t count) {
  constexpr double unknown = 0.5;
  if (!mean || !std::isfinite(*mean) || !std::isfinite(mask)) return unknown;
  const double share = *mean / mask;
  const double half_an_element = 0.5 / static_cast<double>(count);
  return share > half_an_element && share < 1 ? share : unknown;
}

// One number in a dtype, to be copied to many places.
class StoredNumber {
 public:
  StoredNumber(DType dtype, double value) : width_(size_of(dtype)) {
    store_run<double>(dtype, &value, 1, bytes_.data());
  }

  void put(std::byte* elements, std::int64_t index) const {
    std::memcpy(elements + static_cast<std::size_t>(index) * width_, bytes_.data(), width_);
  }

 private:
  std::size_t width_;
  std::array<std::byte, sizeof(double)> bytes_{};
};

}  // namespace

std::optional<MaskedRange> masked_range(DType dtype, std::span<const std::int64_t> shape, const ValueRange& range,
                                        std::optional<double> mean) {
  if (!is_floating(dtype) || is_float8(dtype)) return std::nullopt;
  const std::int64_t count = element_count(shape);
  if (count <= known_elements) return std::nullopt;
  const std::optional<double> low = range.min_finite ? range.min_finite : range.min;
  const std::optional<double> high = range.max_finite ? range.max_finite : range.max;
  if (!low || !high) return std::nullopt;
  // Wide enough that elements of a row differ, and without a change of sign where the recorded end is 0.
  const double width = 2;
  MaskedRange result{.mask = 0, .low = *low, .high = *high, .first = *low, .last = *high, .share = 0};
  if (*low < 0 && is_mask(dtype, *low) && is_ordinary(dtype, *high)) {
    result.mask = *low;
    result.low = *high - std::max(1.0, width * std::abs(*high));
  } else if (*high > 0 && is_mask(dtype, *high) && is_ordinary(dtype, *low)) {
    result.mask = *high;
    result.high = *low + std::max(1.0, width * std::abs(*low));
  } else {
    return std::nullopt;
  }
  result.share = share_of_masked(result.mask, mean, count);
  return result;
}

Tensor masked_tensor(DType dtype, std::span<const std::int64_t> shape, const MaskedRange& range, RandomWords& words) {
  const ValueRange ordinary{.min = range.low, .max = range.high, .min_finite = {}, .max_finite = {}};
  Tensor tensor = random_tensor(dtype, shape, ordinary, words);
  auto* const elements = tensor.mutable_data<std::byte>();
  const StoredNumber mask(dtype, range.mask);
  const std::int64_t count = tensor.numel();
  const std::int64_t row = shape.back();
  const auto limit = static_cast<std::uint64_t>(range.share * 0x1p32);
  std::vector<std::uint32_t> draws(static_cast<std::size_t>(row));
  for (std::int64_t start = 0; start < count; start += row) {
    words.fill(draws);
    const auto spared = row > 1 ? std::ranges::max_element(draws) - draws.begin() : -1;
    for (std::int64_t i = 0; i < row; ++i) {
      if (i != spared && draws[static_cast<std::size_t>(i)] < limit) mask.put(elements, start + i);
    }
  }
  StoredNumber(dtype, range.first).put(elements, 0);
  StoredNumber(dtype, range.last).put(elements, count - 1);
  return tensor;
}

}  // namespace msrun
