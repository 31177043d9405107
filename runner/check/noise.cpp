#include "runner/check/noise.h"

#include <algorithm>
#include <cmath>

#include "kernels/compare/rounding.h"
#include "kernels/tensor/changed_elements.h"

namespace msrun {

Tensor combined_noise(const Tensor& first, const Tensor& second, double times_first, double times) {
  if (!first.defined() || !second.defined()) return {};
  Tensor both(DType::float64, first.shape());
  double* to = both.mutable_data<double>();
  for (std::int64_t i = 0; i < both.numel(); ++i)
    to[i] = std::hypot(times_first * first.data<double>()[i], times * second.data<double>()[i]);
  return both;
}

Tensor in_any_order(Tensor noise, const Tensor& spread, DType dtype) {
  if (!noise.defined() || !spread.defined()) return noise;
  const double of_rounding = epsilon(dtype) / std::sqrt(12.0);
  double* values = noise.mutable_data<double>();
  for (std::int64_t i = 0; i < noise.numel(); ++i)
    values[i] = std::max(values[i], of_rounding * spread.data<double>()[i]);
  return noise;
}

std::int64_t most_outliers(std::int64_t count) { return 1 + count / 250; }

Tensor noise_of_outliers(const Tensor& noise, const Tensor& bench, DType dtype) {
  return changed_elements(noise, [&](double value, std::int64_t i) {
    return std::max(4 * value, unit_in_last_place(dtype, bench.item(i)) / 3);
  });
}

Tensor root_of(const Tensor& squares, const std::optional<Tensor>& without) {
  const Tensor less = without ? without->to(DType::float64).contiguous() : Tensor{};
  return changed_elements(squares.to(DType::float64), [&](double value, std::int64_t i) {
    return std::sqrt(less.defined() ? std::max(value - less.data<double>()[i], 0.0) : value);
  });
}

}  // namespace msrun
