#include "kernels/compare/bounds/lost_slices.h"

#include <cmath>

#include "kernels/tensor/dims.h"

namespace msrun {
namespace {

// Element k, row-major, is in slice k / inner % count.
struct Slicing {
  std::int64_t inner;
  std::int64_t count;

  std::size_t slice_of(std::int64_t k) const { return static_cast<std::size_t>(k / inner % count); }
};

std::vector<Slicing> slicings(const Dims& shape, std::int64_t elements) {
  std::vector<Slicing> result;
  if (shape.empty() || elements == 0) return result;
  const std::int64_t row = shape.back();
  result.push_back({row, elements / row});
  std::int64_t inner = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; inner *= shape[axis]) result.push_back({inner, shape[axis]});
  std::erase_if(result, [&](const Slicing& of) { return of.count == 1 || elements / of.count < fewest_of_a_slice; });
  return result;
}

struct Sums {
  double errors = 0;  // squares
  double sizes = 0;
  std::int64_t count = 0;

  bool is_lost() const { return count >= fewest_of_a_slice && errors > 0 && 4 * errors >= sizes; }
};

}  // namespace

std::vector<bool> lost_slices(const Tensor& bench, const Tensor& device) {
  const Tensor exact = bench.to(DType::float64).contiguous();
  const Tensor actual = device.to(DType::float64).contiguous();
  const std::int64_t elements = exact.numel();
  const double* const values = exact.data<double>();
  const double* const found = actual.data<double>();
  std::vector<bool> lost;
  for (const Slicing& slicing : slicings(exact.shape(), elements)) {
    std::vector<Sums> sums(static_cast<std::size_t>(slicing.count));
    for (std::int64_t k = 0; k < elements; ++k) {
      const double error = found[k] - values[k];
      if (!std::isfinite(error)) continue;
      Sums& of = sums[slicing.slice_of(k)];
      of.errors += error * error;
      of.sizes += values[k] * values[k];
      ++of.count;
    }
    for (std::int64_t k = 0; k < elements; ++k) {
      if (!sums[slicing.slice_of(k)].is_lost()) continue;
      if (lost.empty()) lost.resize(static_cast<std::size_t>(elements));
      lost[static_cast<std::size_t>(k)] = true;
    }
  }
  return lost;
}

}  // namespace msrun
