#include "tools/op_generate/float_pair.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "tools/op_generate/torch_sum.h"

namespace msrun::op_generate {

namespace {

// The number as a tensor of the dtype holds it.
double rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::float64:
      return value;
    case DType::float16:
      return as_half(static_cast<float>(value));
    case DType::bfloat16:
      return as_bfloat16(static_cast<float>(value));
    default:
      return static_cast<float>(value);
  }
}

// torch divides whole numbers in float32.
double quotient(std::int64_t part, double whole) { return static_cast<float>(part) / static_cast<float>(whole); }

std::vector<double> values_of(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::float64).contiguous();
  const double* first = wide.data<double>();
  return {first, first + wide.numel()};
}

// The largest value; NaN if there is one.
double largest(std::span<const double> values) {
  double result = -std::numeric_limits<double>::infinity();
  for (const double value : values) result = std::isnan(value) || value > result ? value : result;
  const bool has_nan = std::ranges::any_of(values, [](double value) { return std::isnan(value); });
  return has_nan ? std::numeric_limits<double>::quiet_NaN() : result;
}

}  // namespace

FloatPair::FloatPair(const Tensor& device, const Tensor& bench, DType computed_in)
    : device_type_(device.dtype()),
      bench_type_(bench.dtype()),
      wide_(promote(device.dtype(), bench.dtype())),
      limits_(limits_of(computed_in)),
      device_(values_of(device)),
      bench_(values_of(bench)),
      narrow_(values_of(bench.to(device.dtype()))) {
  const double eps = bench_type_ == DType::float64 ? 0x1p-52 : 0x1p-23;
  const double small = rounded(bench_type_, limits_.small);
  for (std::size_t i = 0; i < device_.size(); ++i) {
    abs_err_.push_back(rounded(wide_, std::abs(device_[i] - bench_[i])));
    rel_err_.push_back(rounded(wide_, abs_err_[i] / rounded(bench_type_, std::abs(bench_[i]) + eps)));
    const bool finite = std::isfinite(device_[i]) && std::isfinite(narrow_[i]);
    small_.push_back(finite && std::abs(bench_[i]) <= small);
    normal_.push_back(finite && !small_.back());
    const bool same = device_[i] == narrow_[i] || (std::isnan(device_[i]) && std::isnan(narrow_[i]));
    agree_.push_back(!finite && same);
    if (std::isnan(device_[i]) && std::isnan(narrow_[i])) ++unknown_;
    if (!finite && !same && !just_overflows(i)) ++disagreements_;
  }
}

std::int64_t FloatPair::agreements() const { return std::ranges::count(agree_, true); }

std::optional<double> FloatPair::small_errors() const {
  const double limit = rounded(wide_, limits_.small_atol);
  return share(small_, [&](std::size_t i) { return abs_err_[i] > limit; });
}

std::optional<double> FloatPair::relative_errors() const {
  const double limit = rounded(wide_, limits_.rtol);
  return share(normal_, [&](std::size_t i) { return rel_err_[i] > limit; });
}

double FloatPair::within_a_thousandth(std::int64_t also) const {
  const double limit = rounded(wide_, 0.001);
  return quotient(std::ranges::count_if(rel_err_, [&](double error) { return error < limit; }) + also, count());
}

double FloatPair::balance() const {
  std::int64_t above = 0;
  for (std::size_t i = 0; i < device_.size(); ++i)
    above += device_[i] > narrow_[i] ? 1 : device_[i] < narrow_[i] ? -1 : 0;
  return quotient(std::abs(above), count());
}

FloatPair::Ulp FloatPair::ulp() const {
  return ulp_of(ulp_errors(device_type_ == DType::float32 ? DType::float64 : DType::float32));
}

FloatPair::Ulp FloatPair::judged_ulp(const Ulp& plain) const {
  if (std::isfinite(plain.largest)) return plain;
  UlpErrors errors = ulp_errors(DType::float64);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < agree_.size(); ++i) {
    if (!agree_[i]) errors.values[kept++] = errors.values[i];
  }
  errors.values.resize(kept);
  return kept > 0 ? ulp_of(errors) : Ulp{};
}

std::optional<FloatPair::Errors> FloatPair::errors() const {
  std::vector<double> relative;
  std::vector<double> absolute;
  for (std::size_t i = 0; i < device_.size(); ++i) {
    if (!normal_[i]) continue;
    relative.push_back(rel_err_[i]);
    absolute.push_back(abs_err_[i]);
  }
  if (relative.empty()) return std::nullopt;
  const double mean = rounded(wide_, torch_sum(relative, wide_) / static_cast<double>(relative.size()));
  return Errors{largest(relative), mean, root_mean_square(absolute)};
}

FloatPair::UlpErrors FloatPair::ulp_errors(DType wide) const {
  std::vector<double> errors;
  for (std::size_t i = 0; i < device_.size(); ++i) {
    const double bench = rounded(wide, bench_[i]);
    const double log2 = rounded(
        wide, wide == DType::float64 ? std::log2(std::abs(bench)) : std::log2(static_cast<float>(std::abs(bench))));
    double exponent = bench == 0 ? 0 : std::floor(log2);
    if (!std::isnan(exponent)) exponent = std::max(exponent, static_cast<double>(limits_.min_exponent));
    const double scale = rounded(wide, std::exp2(limits_.mantissa_bits - exponent));
    const double difference = rounded(wide, std::abs(rounded(wide, device_[i]) - bench));
    errors.push_back(rounded(wide, difference * scale));
  }
  return {wide, std::move(errors)};
}

FloatPair::Ulp FloatPair::ulp_of(const UlpErrors& errors) const {
  const auto all = static_cast<double>(errors.values.size());
  const auto over = std::ranges::count_if(errors.values, [&](double error) { return error > limits_.ulp_limit; });
  return {largest(errors.values), rounded(errors.dtype, torch_sum(errors.values, errors.dtype) / all),
          quotient(over, all)};
}

double FloatPair::root_mean_square(const std::vector<double>& errors) const {
  const auto all = static_cast<double>(errors.size());
  std::vector<double> squares;
  for (const double error : errors) squares.push_back(rounded(wide_, error * error));
  const double square = rounded(wide_, torch_sum(squares, wide_) / all);
  if (std::isfinite(square)) return rounded(wide_, std::sqrt(square));
  // The squares are too large for the dtype.
  const double unit = largest(errors);
  squares.clear();
  for (const double error : errors) squares.push_back((error / unit) * (error / unit));
  return rounded(wide_, unit * std::sqrt(torch_sum(squares, DType::float64) / all));
}

bool FloatPair::just_overflows(std::size_t i) const {
  const double end = max_finite(device_type_);
  const double bench = bench_[i];
  return std::isfinite(bench) && std::abs(std::clamp(device_[i], -end, end) - bench) <= limits_.rtol * std::abs(bench);
}

std::optional<double> FloatPair::share(const std::vector<bool>& of, const std::function<bool(std::size_t)>& is) const {
  std::int64_t all = 0;
  std::int64_t part = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!of[i]) continue;
    ++all;
    part += is(i) ? 1 : 0;
  }
  if (all == 0) return std::nullopt;
  return quotient(part, static_cast<double>(all));
}

}  // namespace msrun::op_generate
