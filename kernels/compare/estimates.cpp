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

// Numbers whose squares float64 holds with all their digits.
constexpr double least_to_square = 0x1p-480;
constexpr double most_to_square = 0x1p480;

bool may_be_squared(double size) { return size >= least_to_square && size <= most_to_square; }

// The square root of a negative number stands for it with a minus sign.
double signed_root(double square) { return std::copysign(std::sqrt(std::abs(square)), square); }
double signed_square(double root) { return root * std::abs(root); }

// The root of the sum of two signed squares, whose range is not that of the squares: those of float64 numbers may be
// beyond it, and an infinite sum would explain everything.
double root_of_sum(double a, double b) {
  const double larger = std::max(std::abs(a), std::abs(b));
  if (larger == 0 || !std::isfinite(larger)) return larger;
  if (may_be_squared(larger)) return signed_root(signed_square(a) + signed_square(b));
  return larger * signed_root(signed_square(a / larger) + signed_square(b / larger));
}

// Adds the square of add(x, y), which is negative where that is, of each pair of elements of two tensors of one shape
// to what the elements of a contiguous float64 tensor of that shape are the roots of; it is made of zeros if it is not
// there yet.
template <class Add>
void accumulate(Tensor& sums, const Tensor& left, const Tensor& right, const Add& add) {
  if (!sums.defined()) sums = Tensor::zeros(DType::float64, left.shape());
  double* to = sums.mutable_data<double>();
  for_each_pair(left, right, [&](double x, double y, std::int64_t i) { to[i] = root_of_sum(to[i], add(x, y)); });
}

// The roots of sums as means of so many samples; zeros where there are no sums.
Tensor root_mean(const Tensor& sums, const Dims& shape, int samples) {
  if (!sums.defined()) return Tensor::zeros(DType::float64, shape);
  Tensor result(DType::float64, shape);
  const double* from = sums.data<double>();
  double* to = result.mutable_data<double>();
  const double share = 1 / std::sqrt(static_cast<double>(samples));
  for (std::int64_t i = 0; i < result.numel(); ++i) to[i] = std::max(from[i], 0.0) * share;
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
  accumulate(sums_, original_, changed, [this](double from, double to) {
    const double difference = (to - from) / change_;
    // A change that leads out of the domain of a function tells nothing.
    return std::isfinite(difference) ? std::abs(difference) : 0;
  });
  ++samples_;
}

Tensor SpreadEstimate::spread() const { return root_mean(sums_, original_.shape(), samples_); }

void NoiseEstimate::add(const Tensor& exact, const Tensor& rounded, bool jumps) {
  accumulate(sums_, exact, rounded,
             [this, jumps, units = rounding::Units(rounded.dtype())](double value, double other) {
               const double difference = value - other;
               if (!std::isfinite(difference) || std::abs(value) < least_) return 0.0;
               if (jumps && other == 0 && std::abs(value) > smallest_normal(DType::float16)) return 0.0;
               return root_of_sum(std::abs(difference), -units.at(value) / std::sqrt(6.0));
             });
  ++samples_;
}

Tensor NoiseEstimate::noise() const { return root_mean(sums_, shape_, samples_); }

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
