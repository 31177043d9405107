#include "kernels/compare/bounds/estimates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/compare/bounds/rounding_terms.h"
#include "kernels/compare/metrics/blocks.h"

namespace msrun {
namespace {

constexpr std::int64_t block = block_size<double>;

using Block = std::array<double, block>;

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
}

bool SquareSums::has_square(double size) { return size == 0 || (size >= least_to_square && size <= most_to_square); }

void SquareSums::add(std::int64_t first, std::int64_t count, const double* sizes, const double* less) {
  double* const to = squares_.mutable_data<double>() + first;
  // Loops without branches, which the compiler vectorises.
  bool have_squares = true;
  for (std::int64_t i = 0; i < count; ++i) have_squares = have_squares & has_square(sizes[i]);
  if (have_squares) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += sizes[i] * sizes[i] - less[i] * less[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (has_square(sizes[i])) {
      to[i] += sizes[i] * sizes[i] - less[i] * less[i];
    } else {
      add_extreme(first + i, sizes[i], less[i]);
    }
  }
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
  for_each_block(exact, rounded,
                 [&](const double* values, const double* others, std::int64_t first, std::int64_t count) {
                   bool all_finite = true;
                   for (std::int64_t i = 0; i < count; ++i) all_finite = all_finite & std::isfinite(others[i]);
                   for (std::int64_t i = 0; i < count && !all_finite; ++i) {
                     if (!is_lost(values[i], others[i], rounded.dtype())) continue;
                     if (!lost.defined()) lost = Tensor::zeros(DType::float64, exact.shape());
                     double& left = lost.mutable_data<double>()[first + i];
                     left = std::isnan(left) ? left : others[i];
                   }
                 });
}

void SpreadEstimate::add(const Tensor& changed) {
  sums_.begin(original_.shape());
  const Block nothing{};
  for_each_block(original_, changed, [&](const double* from, const double* to, std::int64_t first, std::int64_t count) {
    Block sizes;
    for (std::int64_t i = 0; i < count; ++i) {
      const double size = std::abs(to[i] - from[i]) / change_;
      // A change that leads out of the domain of a function tells nothing.
      sizes[static_cast<std::size_t>(i)] = std::isfinite(size) ? size : 0;
    }
    sums_.add(first, count, sizes.data(), nothing.data());
  });
  ++samples_;
}

Tensor SpreadEstimate::spread() const { return sums_.root_mean(original_.shape(), samples_); }

void NoiseEstimate::add(const Tensor& exact, const Tensor& rounded, bool jumps) {
  sums_.begin(shape_);
  const rounding::Units units(rounded.dtype());
  const double least_lost = jumps ? smallest_normal(DType::float16) : std::numeric_limits<double>::infinity();
  for_each_block(exact, rounded,
                 [&](const double* values, const double* others, std::int64_t first, std::int64_t count) {
                   Block sizes;
                   Block less;
                   for (std::int64_t i = 0; i < count; ++i) {
                     const double difference = std::abs(values[i] - others[i]);
                     const bool is_lost = others[i] == 0 && difference > least_lost;
                     const bool counts = std::isfinite(difference) && std::abs(values[i]) >= least_ && !is_lost;
                     sizes[static_cast<std::size_t>(i)] = counts ? difference : 0;
                     less[static_cast<std::size_t>(i)] = counts ? units.at(values[i]) * (1 / std::sqrt(6.0)) : 0;
                   }
                   sums_.add(first, count, sizes.data(), less.data());
                 });
  ++samples_;
}

Tensor NoiseEstimate::noise() const { return sums_.root_mean(shape_, samples_); }

double common_factor(const Tensor& exact, const Tensor& actual) {
  double products = 0;
  double squares = 0;
  for_each_block(exact, actual, [&](const double* values, const double* others, std::int64_t, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double error = others[i] - values[i];
      if (!std::isfinite(error)) continue;
      products += error * values[i];
      squares += values[i] * values[i];
    }
  });
  const double factor = products / squares;
  return std::isfinite(factor) ? factor : 0;
}

bool errs_like(const Tensor& bench, const Tensor& device, const Tensor& noise, double times) {
  double squares = 0;
  double expected = 0;
  double count = 0;
  const double* sizes = noise.data<double>();
  const rounding::Units units(device.dtype());
  for_each_block(bench, device, [&](const double* exact, const double* actual, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double error = actual[i] - exact[i];
      if (!std::isfinite(error)) continue;
      const double unit = units.at(exact[i]);
      ++count;
      squares += error * error;
      expected += sizes[first + i] * sizes[first + i] + unit * unit / 6;
    }
  });
  const double most = times + 3 / std::sqrt(std::max(count, 1.0));
  return squares <= most * most * expected;
}

}  // namespace msrun
