#include "kernels/compare/rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

// The small multiple of the model, for both sides together: errors of independent roundings stay below half of it.
constexpr double safety = 8;
// The median of more than twice as many elements is taken of about this many.
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

// Elements [first, first + count) of a contiguous tensor.
void load(const Tensor& tensor, std::int64_t first, std::int64_t count, std::int64_t step, double* to) {
  load_run<double>(tensor.dtype(), tensor.raw() + static_cast<std::size_t>(first) * size_of(tensor.dtype()), step,
                   count, to);
}

// The median magnitude of the finite values, which are reordered; 0 if there is none.
double median_magnitude(std::vector<double>& values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return 0;
  for (double& value : values) value = std::abs(value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Every so many elements of a contiguous tensor.
std::vector<double> sampled(const Tensor& tensor) {
  const std::int64_t step = std::max<std::int64_t>(1, tensor.numel() / median_elements);
  std::vector<double> values(static_cast<std::size_t>((tensor.numel() + step - 1) / step));
  load(tensor, 0, static_cast<std::int64_t>(values.size()), step, values.data());
  return values;
}

double median_magnitude(const Tensor& tensor) {
  std::vector<double> values = sampled(tensor);
  return median_magnitude(values);
}

double median_difference(const Tensor& a, const Tensor& b) {
  std::vector<double> values = sampled(a);
  const std::vector<double> others = sampled(b);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= others[i];
  return median_magnitude(values);
}

// What is explained of the difference of one element.
struct Allowance {
  DType dtype;
  bool exact;
  bool sums;
  double factor;  // of sums
  double common;  // spread that every element has at least
  double common_stored;
  double largest;

  // bench and rounded are the benchmark before and after it is rounded; stored the result with stored intermediates.
  double operator()(double unit, double bench, double spread, double stored) const {
    double total = exact ? 0 : unit;
    if (sums && std::isfinite(bench)) total += factor * (std::abs(bench) + spread + common);
    if (std::isfinite(stored)) total += 2 * (std::abs(stored - bench) + common_stored);
    return total;
  }

  double difference(double bench, double rounded, double device) const {
    if (std::isnan(rounded) || std::isnan(device)) {
      return std::isnan(rounded) && std::isnan(device) ? 0 : std::numeric_limits<double>::infinity();
    }
    if (rounded == device) return 0;
    // At the end of the range the largest number and infinity are neighbours.
    const double from = std::isfinite(bench) ? std::clamp(rounded, -largest, largest) : rounded;
    const bool overflow = std::isinf(device) && std::abs(from) == largest && (device > 0) == (from > 0);
    return overflow ? unit_in_last_place(dtype, largest) : std::abs(device - from);
  }
};

}  // namespace

double smallest_normal(DType dtype) { return std::ldexp(1.0, smallest_exponent(dtype)); }

double unit_in_last_place(DType dtype, double value) {
  const double magnitude = std::max(std::abs(value), smallest_normal(dtype));
  return std::ldexp(epsilon(dtype), std::ilogb(magnitude));
}

double accumulator_roundoff(DType dtype) { return epsilon(dtype == DType::float64 ? dtype : DType::float32) / 2; }

RoundingFit fit_rounding(const Tensor& bench, const Tensor& device, const SumModel& model) {
  const DType dtype = device.dtype();
  const Tensor exact = bench.contiguous();
  const Tensor rounded = bench.to(dtype).contiguous();
  const Tensor actual = device.contiguous();
  const std::int64_t count = exact.numel();
  const std::size_t width = size_of(dtype);
  RoundingFit fit;
  if (std::memcmp(rounded.raw(), actual.raw(), actual.bytes()) == 0) return fit;

  const bool sums = model.longest > 0 && !model.exact;
  const double roundoff = model.roundoff > 0 ? model.roundoff : accumulator_roundoff(dtype);
  const Tensor spread = model.spread.defined() ? model.spread.contiguous() : Tensor{};
  const Tensor stored = model.with_stored.defined() ? model.with_stored.contiguous() : Tensor{};
  // Beside an element's own spread that of its like counts, because few samples may miss it; of many the median.
  const double common = !sums ? 0 : spread.defined() ? median_magnitude(spread) / 2 : median_magnitude(exact);
  const Allowance allowance{.dtype = dtype,
                            .exact = model.exact,
                            .sums = sums,
                            .factor = safety * roundoff * std::sqrt(static_cast<double>(model.longest)),
                            .common = common,
                            .common_stored = stored.defined() ? median_difference(exact, stored) : 0,
                            .largest = max_finite(dtype)};

  constexpr std::int64_t block = 1024;
  std::array<double, block> b{};
  std::array<double, block> r{};
  std::array<double, block> d{};
  std::array<double, block> s{};
  std::array<double, block> t{};
  if (!stored.defined()) t.fill(std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t size = std::min(block, count - first);
    const std::size_t offset = static_cast<std::size_t>(first) * width;
    if (std::memcmp(rounded.raw() + offset, actual.raw() + offset, static_cast<std::size_t>(size) * width) == 0)
      continue;
    load(exact, first, size, 1, b.data());
    load(rounded, first, size, 1, r.data());
    load(actual, first, size, 1, d.data());
    if (spread.defined()) load(spread, first, size, 1, s.data());
    if (stored.defined()) load(stored, first, size, 1, t.data());
    for (std::int64_t k = 0; k < size; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const double difference = allowance.difference(b[i], r[i], d[i]);
      if (difference == 0) continue;
      const double unit = unit_in_last_place(dtype, std::isfinite(r[i]) ? r[i] : allowance.largest);
      const double explained = allowance(unit, b[i], std::isfinite(s[i]) ? s[i] : 0, t[i]);
      fit.max_ulps = std::max(fit.max_ulps, difference / unit);
      if (explained > 0) fit.max_share = std::max(fit.max_share, difference / explained);
      if (difference <= explained) continue;
      if (fit.is_beyond.empty()) fit.is_beyond.resize(static_cast<std::size_t>(count));
      fit.is_beyond[static_cast<std::size_t>(first + k)] = true;
      ++fit.beyond;
    }
  }
  return fit;
}

SpreadEstimate::SpreadEstimate(const Tensor& original, double change)
    : original_(original.to(DType::float64).contiguous()),
      change_(change),
      squares_(static_cast<std::size_t>(original.numel())) {}

void SpreadEstimate::add(const Tensor& changed) {
  const Tensor other = changed.to(DType::float64).contiguous();
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
