#include "kernels/compare/choices/bin_moves.h"

#include <cmath>

namespace msrun {

std::optional<Tensor> moved_counts(const EdgeCounts& edges, const Tensor& bench, const Tensor& device) {
  const auto count = static_cast<std::int64_t>(edges.at_lower.size());
  if (bench.shape() != device.shape() || bench.numel() != count || count == 0) return std::nullopt;
  const Tensor expected = bench.to(DType::float64).contiguous();
  const Tensor actual = device.to(DType::float64).contiguous();
  Tensor added(DType::float64, bench.shape());
  // Elements that have left the bins up to here upwards, less those that came down.
  double upwards = 0;
  bool any = false;
  for (std::int64_t i = 0; i < count; ++i) {
    const double change = actual.data<double>()[i] - expected.data<double>()[i];
    upwards -= change;
    const bool last = i + 1 == count;
    const double most = last ? 0 : static_cast<double>(edges.at_upper[static_cast<std::size_t>(i)]);
    const double least = last ? 0 : -static_cast<double>(edges.at_lower[static_cast<std::size_t>(i) + 1]);
    // False for NaN.
    if (!(upwards >= least && upwards <= most) || upwards != std::nearbyint(upwards)) return std::nullopt;
    added.mutable_data<double>()[i] = change;
    any = any || change != 0;
  }
  return any ? std::optional(std::move(added)) : std::nullopt;
}

}  // namespace msrun
