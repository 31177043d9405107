#include "kernels/compare/bounds/exact_results.h"

#include <cmath>

#include "kernels/compare/metrics/blocks.h"

namespace msrun {

std::int64_t lost_signs_of_zero(const Tensor& bench, const Tensor& device) {
  std::int64_t lost = 0;
  for_each_block(bench, device, [&](const double* expected, const double* found, std::int64_t, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const bool both_zero = (expected[i] == 0) & (found[i] == 0);
      const bool was_negative = std::signbit(expected[i]);
      const bool is_negative = std::signbit(found[i]);
      lost += (both_zero & was_negative & !is_negative) ? 1 : 0;
    }
  });
  return lost;
}

}  // namespace msrun
