// What repeated measurements have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace msrun::bench {

// The value that this share of values, of which there is at least one, is below: 0.5 for their median, the lower one of
// an even number.
inline double quantile(std::vector<double> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(values.size() - 1) * share);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace msrun::bench
