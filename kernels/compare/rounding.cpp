#include "kernels/compare/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/error.h"

namespace msrun {
namespace {

// The small multiple of the model, for both sides together: errors of independent roundings stay below half of it.
constexpr double safety = 8;
// The median is taken of at most this many elements.
constexpr std::int64_t median_elements = 65536;

int smallest_exponent(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::float8_e5m2:
      return -14;
    case DType::float8_e4m3fn:
      return -6;
    case DType::float64:
      return -1022;
    default:
      return -126;
  }
}

Tensor as_doubles(const Tensor& tensor) { return tensor.to(DType::float64).contiguous(); }

double median_magnitude(const Tensor& doubles) {
  const double* values = doubles.data<double>();
  const std::int64_t step = std::max<std::int64_t>(1, doubles.numel() / median_elements);
  std::vector<double> magnitudes;
  for (std::int64_t i = 0; i < doubles.numel(); i += step) {
    if (std::isfinite(values[i])) magnitudes.push_back(std::abs(values[i]));
  }
  if (magnitudes.empty()) return 0;
  const auto middle = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  return *middle;
}

Tensor differences(const Tensor& a, const Tensor& b) {
  Tensor result(DType::float64, a.shape());
  double* to = result.mutable_data<double>();
  for (std::int64_t i = 0; i < a.numel(); ++i) to[i] = std::abs(a.data<double>()[i] - b.data<double>()[i]);
  return result;
}

}  // namespace

double smallest_normal(DType dtype) { return std::ldexp(1.0, smallest_exponent(dtype)); }

double unit_in_last_place(DType dtype, double value) {
  const double magnitude = std::max(std::abs(value), smallest_normal(dtype));
  return std::ldexp(epsilon(dtype), std::ilogb(magnitude));
}

double accumulator_roundoff(DType dtype) { return epsilon(dtype == DType::float64 ? dtype : DType::float32) / 2; }

RoundingFit fit_rounding(const Tensor& bench, const Tensor& device, const SumModel& model) {
  const DType dtype = device.dtype();
  const Tensor exact = as_doubles(bench);
  const Tensor rounded = as_doubles(bench.to(dtype));
  const Tensor actual = as_doubles(device);
  const double* b = exact.data<double>();
  const double* r = rounded.data<double>();
  const double* d = actual.data<double>();
  const std::int64_t count = exact.numel();

  const bool sums = model.longest > 0 && !model.exact;
  const double roundoff = model.roundoff > 0 ? model.roundoff : accumulator_roundoff(dtype);
  const double factor = sums ? safety * roundoff * std::sqrt(static_cast<double>(model.longest)) : 0;
  const Tensor spread = model.spread.defined() ? as_doubles(model.spread) : Tensor{};
  const double* s = spread.defined() ? spread.data<double>() : nullptr;
  // Beside an element's own spread that of its like counts, because few samples may miss it; of many the median.
  const double common = !sums ? 0 : s == nullptr ? median_magnitude(exact) : median_magnitude(spread) / 2;
  const Tensor stored = model.with_stored.defined() ? differences(exact, as_doubles(model.with_stored)) : Tensor{};
  const double* t = stored.defined() ? stored.data<double>() : nullptr;
  const double common_stored = t == nullptr ? 0 : median_magnitude(stored);
  const double largest = max_finite(dtype);

  RoundingFit fit;
  for (std::int64_t i = 0; i < count; ++i) {
    double difference = 0;
    if (std::isnan(r[i]) || std::isnan(d[i])) {
      if (std::isnan(r[i]) && std::isnan(d[i])) continue;
      difference = std::numeric_limits<double>::infinity();
    } else if (r[i] == d[i]) {
      continue;
    } else {
      // At the end of the range the largest number and infinity are neighbours.
      const double from = std::isfinite(b[i]) ? std::clamp(r[i], -largest, largest) : r[i];
      const bool overflow =
          std::isinf(d[i]) && std::isfinite(from) && std::abs(from) == largest && (d[i] > 0) == (from > 0);
      difference = overflow ? unit_in_last_place(dtype, largest) : std::abs(d[i] - from);
    }
    const double unit = std::isfinite(r[i]) ? unit_in_last_place(dtype, r[i]) : unit_in_last_place(dtype, largest);
    const double intermediate = t != nullptr && std::isfinite(t[i]) ? 2 * (t[i] + common_stored) : 0;
    const double own = s != nullptr && std::isfinite(s[i]) ? s[i] : 0;
    const double explained = (model.exact ? 0 : unit) + intermediate +
                             (sums && std::isfinite(b[i]) ? factor * (std::abs(b[i]) + own + common) : 0);
    fit.max_ulps = std::max(fit.max_ulps, difference / unit);
    if (explained > 0) fit.max_share = std::max(fit.max_share, difference / explained);
    if (difference <= explained) continue;
    if (fit.is_beyond.empty()) fit.is_beyond.resize(static_cast<std::size_t>(count));
    fit.is_beyond[static_cast<std::size_t>(i)] = true;
    ++fit.beyond;
  }
  return fit;
}

SpreadEstimate::SpreadEstimate(const Tensor& original, double change)
    : original_(as_doubles(original)), change_(change), squares_(static_cast<std::size_t>(original.numel())) {}

void SpreadEstimate::add(const Tensor& changed) {
  const Tensor other = as_doubles(changed);
  const double* from = original_.data<double>();
  const double* to = other.data<double>();
  for (std::size_t i = 0; i < squares_.size(); ++i) {
    const double difference = (to[i] - from[i]) / change_;
    squares_[i] += difference * difference;
  }
  ++samples_;
}

Tensor SpreadEstimate::spread() const {
  Tensor result(DType::float64, original_.shape());
  double* to = result.mutable_data<double>();
  for (std::size_t i = 0; i < squares_.size(); ++i) to[i] = std::sqrt(squares_[i] / std::max(samples_, 1));
  return result;
}

}  // namespace msrun
