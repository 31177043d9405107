#include "kernels/compare/estimates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

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

// The square root of a negative number stands for it with a minus sign.
double signed_root(double square) { return std::copysign(std::sqrt(std::abs(square)), square); }
double signed_square(double root) { return root * std::abs(root); }

// The root of the sum of two signed squares, whose range is not that of the squares.
double root_of_sum(double a, double b) {
  const double larger = std::max(std::abs(a), std::abs(b));
  if (larger == 0) return 0;
  return larger * signed_root(signed_square(a / larger) + signed_square(b / larger));
}

// Whether a number, or an infinity, is lost where it is computed in an arithmetic that stores it in a dtype.
bool is_lost(double exact, double rounded, DType dtype) {
  if (std::isfinite(rounded) || std::isnan(exact) || exact == rounded) return false;
  // Near the end of the range it is stored as infinity.
  return std::isnan(rounded) || std::isinf(exact) || std::abs(exact) < max_finite(dtype) / 2;
}

}  // namespace

void SquareSums::begin(const Dims& shape) {
  if (squares_.defined()) return;
  squares_ = Tensor::zeros(DType::float64, shape);
  to_ = squares_.mutable_data<double>();
}

void SquareSums::add_extreme(std::int64_t i, double size, double less) {
  if (!roots_.defined()) roots_ = Tensor::zeros(DType::float64, squares_.shape());
  double& root = roots_.mutable_data<double>()[i];
  root = root_of_sum(root, root_of_sum(size, -less));
}

Tensor SquareSums::root_mean(const Dims& shape, int samples) const {
  if (!squares_.defined()) return Tensor::zeros(DType::float64, shape);
  Tensor result(DType::float64, shape);
  const double* from = squares_.data<double>();
  double* to = result.mutable_data<double>();
  for (std::int64_t i = 0; i < result.numel(); ++i) to[i] = std::sqrt(std::max(from[i], 0.0) / samples);
  if (!roots_.defined()) return result;
  const double share = 1 / std::sqrt(static_cast<double>(samples));
  const double* roots = roots_.data<double>();
  for (std::int64_t i = 0; i < result.numel(); ++i) to[i] = root_of_sum(to[i], std::max(roots[i] * share, 0.0));
  return result;
}

void mark_lost(const Tensor& exact, const Tensor& rounded, Tensor& lost) {
  for_each_pair(exact, rounded, [&](double value, double other, std::int64_t i) {
    if (!is_lost(value, other, rounded.dtype())) return;
    if (!lost.defined()) lost = Tensor::zeros(DType::float64, exact.shape());
    double& left = lost.mutable_data<double>()[i];
    left = std::isnan(left) ? left : other;
  });
}

void SpreadEstimate::add(const Tensor& changed) {
  sums_.begin(original_.shape());
  for_each_pair(original_, changed, [this](double from, double to, std::int64_t i) {
    const double difference = (to - from) / change_;
    // A change that leads out of the domain of a function tells nothing.
    sums_.add(i, std::isfinite(difference) ? std::abs(difference) : 0, 0);
  });
  ++samples_;
}

Tensor SpreadEstimate::spread() const { return sums_.root_mean(original_.shape(), samples_); }

void NoiseEstimate::add(const Tensor& exact, const Tensor& rounded, bool jumps) {
  sums_.begin(shape_);
  const rounding::Units units(rounded.dtype());
  const double least_lost = jumps ? smallest_normal(DType::float16) : std::numeric_limits<double>::infinity();
  for_each_pair(exact, rounded, [&](double value, double other, std::int64_t i) {
    const double difference = std::abs(value - other);
    if (!std::isfinite(difference) || std::abs(value) < least_) return;
    if (other == 0 && difference > least_lost) return;
    sums_.add(i, difference, units.at(value) * (1 / std::sqrt(6.0)));
  });
  ++samples_;
}

Tensor NoiseEstimate::noise() const { return sums_.root_mean(shape_, samples_); }

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
