#include "kernels/compare/diagnosis/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/compare/bounds/rounding.h"

namespace msrun {
namespace {

// The place of an error among sizes bounds, of which the second is 2^least.
std::size_t size_index(double error, int least, std::size_t sizes) {
  if (error == 0) return 0;
  if (!std::isfinite(error)) return sizes - 1;
  int exponent = 0;
  // The error is fraction * 2^exponent with a fraction in [0.5, 1).
  const double fraction = std::frexp(error, &exponent);
  if (fraction == 0.5) --exponent;
  const int index = std::max(exponent - least, 0) + 1;
  return std::min(static_cast<std::size_t>(index), sizes - 1);
}

double bound(std::size_t index, int least, std::size_t sizes) {
  if (index == 0) return 0;
  if (index + 1 >= sizes) return std::numeric_limits<double>::infinity();
  return std::ldexp(1.0, least + static_cast<int>(index) - 1);
}

ErrorHistogram histogram(const Tensor& bench, const Tensor& device) {
  const DType dtype = device.dtype();
  const Tensor exact = bench.to(DType::float64).contiguous();
  const Tensor rounded = bench.to(dtype).to(DType::float64).contiguous();
  const Tensor actual = device.to(DType::float64).contiguous();
  const double* b = exact.data<double>();
  const double* r = rounded.data<double>();
  const double* d = actual.data<double>();
  ErrorHistogram result;
  for (std::int64_t i = 0; i < actual.numel(); ++i) {
    const bool same = r[i] == d[i] || (std::isnan(r[i]) && std::isnan(d[i]));
    const double error = same ? 0 : std::abs(d[i] - r[i]);
    const double ulps = error == 0 ? 0 : error / unit_in_last_place(dtype, std::isfinite(r[i]) ? r[i] : 0);
    ++result.ulps[size_index(ulps, 0, ErrorHistogram::ulp_sizes)];
    const double relative = same && !std::isfinite(d[i]) ? 0 : std::abs(d[i] - b[i]) / std::abs(b[i]);
    ++result.relative[size_index(b[i] == d[i] ? 0 : relative, ErrorHistogram::least_relative,
                                 ErrorHistogram::relative_sizes)];
  }
  return result;
}

}  // namespace

const std::vector<bool>& wrong_elements(const RoundingFit& fit) {
  return fit.beyond > 0 ? fit.is_beyond : fit.is_misrounded;
}
std::int64_t wrong_count(const RoundingFit& fit) { return fit.beyond > 0 ? fit.beyond : fit.misrounded; }

double relative_bound(std::size_t index) {
  return bound(index, ErrorHistogram::least_relative, ErrorHistogram::relative_sizes);
}

double ulp_bound(std::size_t index) { return bound(index, 0, ErrorHistogram::ulp_sizes); }

Difference difference_of(const Tensor& bench, const Tensor& device, const RoundingFit& fit) {
  return {map_differences(device.shape(), wrong_elements(fit), size_of(device.dtype())), histogram(bench, device)};
}

}  // namespace msrun
