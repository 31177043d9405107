#include "kernels/compare/estimates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/compare/blocks.h"
#include "kernels/compare/rounding_terms.h"

namespace msrun {
namespace {

constexpr std::int64_t block = block_size<double>;

// Calls visit(x, y, i) for each pair of elements of two tensors of one shape, in row-major order.
template <class Visit>
void for_each_pair(const Tensor& left, const Tensor& right, const Visit& visit) {
  Reader of_left(left);
  Reader of_right(right);
  std::array<double, block> x;
  std::array<double, block> y;
  for (std::int64_t done = 0; done < left.numel(); done += block) {
    const std::int64_t size = std::min(block, left.numel() - done);
    of_left.read(x.data(), size);
    of_right.read(y.data(), size);
    for (std::int64_t i = 0; i < size; ++i) {
      visit(x[static_cast<std::size_t>(i)], y[static_cast<std::size_t>(i)], done + i);
    }
  }
}

// Adds add(x, y) of each pair of elements of two tensors of one shape to the elements of a contiguous float64 tensor of
// that shape, which is made of zeros if it is not there yet.
template <class Add>
void accumulate(Tensor& sums, const Tensor& left, const Tensor& right, const Add& add) {
  if (!sums.defined()) sums = Tensor::zeros(DType::float64, left.shape());
  double* to = sums.mutable_data<double>();
  for_each_pair(left, right, [&](double x, double y, std::int64_t i) { to[i] += add(x, y); });
}

// The roots of sums as means of so many samples; zeros where there are no sums.
Tensor root_mean(const Tensor& sums, const Dims& shape, int samples) {
  if (!sums.defined()) return Tensor::zeros(DType::float64, shape);
  Tensor result(DType::float64, shape);
  const double* from = sums.data<double>();
  double* to = result.mutable_data<double>();
  for (std::int64_t i = 0; i < result.numel(); ++i) to[i] = std::sqrt(std::max(from[i], 0.0) / samples);
  return result;
}

// Whether a number, or an infinity, is lost where it is computed in an arithmetic that stores it in a dtype.
bool is_lost(double exact, double rounded, DType dtype) {
  if (std::isfinite(rounded) || std::isnan(exact) || exact == rounded) return false;
  // Near the end of the range it is stored as infinity.
  return std::isnan(rounded) || std::isinf(exact) || std::abs(exact) < max_finite(dtype) / 2;
}

}  // namespace

void mark_lost(const Tensor& exact, const Tensor& rounded, Tensor& lost) {
  for_each_pair(exact, rounded, [&](double value, double other, std::int64_t i) {
    if (!is_lost(value, other, rounded.dtype())) return;
    if (!lost.defined()) lost = Tensor::zeros(DType::float64, exact.shape());
    double& left = lost.mutable_data<double>()[i];
    left = std::isnan(left) ? left : other;
  });
}

void SpreadEstimate::add(const Tensor& changed) {
  accumulate(squares_, original_, changed, [this](double from, double to) {
    const double difference = (to - from) / change_;
    // A change that leads out of the domain of a function tells nothing.
    return std::isfinite(difference) ? difference * difference : 0;
  });
  ++samples_;
}

Tensor SpreadEstimate::spread() const { return root_mean(squares_, original_.shape(), samples_); }

void NoiseEstimate::add(const Tensor& exact, const Tensor& rounded) {
  accumulate(squares_, exact, rounded, [units = rounding::Units(rounded.dtype())](double value, double other) {
    const double difference = value - other;
    if (!std::isfinite(difference)) return 0.0;
    const double unit = units.at(value);
    return difference * difference - unit * unit / 6;
  });
  ++samples_;
}

Tensor NoiseEstimate::noise() const { return root_mean(squares_, shape_, samples_); }

bool errs_like(const Tensor& bench, const Tensor& device, const Tensor& noise, double times) {
  double squares = 0;
  double expected = 0;
  double count = 0;
  const double* sizes = noise.data<double>();
  const rounding::Units units(device.dtype());
  for_each_pair(bench, device, [&](double exact, double actual, std::int64_t i) {
    const double error = actual - exact;
    if (!std::isfinite(error)) return;
    const double unit = units.at(exact);
    ++count;
    squares += error * error;
    expected += sizes[i] * sizes[i] + unit * unit / 6;
  });
  const double most = times + 3 / std::sqrt(std::max(count, 1.0));
  return squares <= most * most * expected;
}

}  // namespace msrun
