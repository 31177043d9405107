#include "kernels/compare/bounds/typical.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "kernels/compare/bounds/constants.h"

namespace msrun {
namespace {

constexpr int fraction_bits = 52;

std::uint32_t exponent_of(double magnitude) {
  return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(magnitude) >> fraction_bits);
}

// How many of so many values below a limit lie below its sixteenth part at most. Where values have a smooth density
// near zero one in sixteen does, give or take what chance makes of their number; twice as many, as the density may rise
// a little.
double most_below(double count) {
  const double expected = count / 8;
  return expected + 1 + chance_of_kinds * std::sqrt(expected);
}

}  // namespace

// Magnitudes are counted by exponent first, in one class those far below the largest: few are left to be ordered within
// the class of the median, which takes comparisons whose outcome no processor foresees.
double median(std::span<const double> magnitudes) {
  if (magnitudes.empty()) return 0;
  constexpr std::uint32_t classes = 64;
  std::uint32_t top = 0;
  for (const double magnitude : magnitudes) top = std::max(top, exponent_of(magnitude));
  const auto class_of = [&](double magnitude) { return std::min(top - exponent_of(magnitude), classes - 1); };
  std::array<std::size_t, classes> counts{};
  for (const double magnitude : magnitudes) ++counts[class_of(magnitude)];
  std::size_t larger = magnitudes.size() - magnitudes.size() / 2 - 1;  // than the median, and equal ones
  std::uint32_t middle = 0;
  while (larger >= counts[middle]) larger -= counts[middle++];
  std::vector<double> candidates(counts[middle] + 1);
  std::size_t found = 0;
  for (const double magnitude : magnitudes) {
    candidates[found] = magnitude;
    found += class_of(magnitude) == middle ? 1 : 0;
  }
  const auto at = candidates.begin() + static_cast<std::ptrdiff_t>(larger);
  std::nth_element(candidates.begin(), at, candidates.end() - 1, std::greater<>());
  return *at;
}

std::vector<double> finite_magnitudes(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  for (double& value : values) value = std::abs(value);
  return values;
}

TypicalMagnitude::TypicalMagnitude(std::vector<double> values) {
  if (values.size() == 1) return;
  values = finite_magnitudes(std::move(values));
  const std::size_t count = values.size();
  if (median(values) == 0) std::erase(values, 0);
  const bool has_zeros = values.size() < count;
  for (Kind& kind : kinds_) {
    kind.typical = median(values);
    const auto below = [&](double limit) {
      return static_cast<double>(
          std::count_if(values.begin(), values.end(), [&](double value) { return value < limit; }));
    };
    const double limit = kind.typical / 256;
    if (below(limit) <= most_below(below(16 * limit))) {
      // Zero is below every other number.
      if (has_zeros && &kind != &kinds_.back()) kind.at_least = std::numeric_limits<double>::denorm_min();
      return;
    }
    std::erase_if(values, [&](double value) { return value >= limit; });
    kind.at_least = limit;
  }
  // A further kind is not told from the last.
  kinds_.back().at_least = 0;
}

}  // namespace msrun
