#include "kernels/numeric/random_projection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

// Elements that are loaded at a time, and sums that are formed at a time: some tens of kilobytes.
constexpr std::int64_t most_loaded = 1024;
constexpr std::int64_t most_neighbours = 512;

// The square of the unit in the last place of a floating dtype at a finite value.
struct SquaredPlace {
  explicit SquaredPlace(DType dtype) {
    const double unit = epsilon(dtype);
    share = unit * unit;
    const int lowest = dtype == DType::float16 ? -14 : dtype == DType::float64 ? -1022 : -126;
    least = std::ldexp(1.0, std::max(lowest, -500));
  }
  double operator()(double value) const {
    const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & 0x7FF0000000000000U);
    const double held = power > least ? power : least;
    return held * held * share;
  }
  double share = 0;
  double least = 0;
};

void add(const double* values, double sign, std::int64_t count, double* sums) {
  for (std::int64_t j = 0; j < count; ++j) sums[j] += sign * values[j];
}

void add_measures(const double* values, std::int64_t count, const SquaredPlace& place, double* squares,
                  double* places) {
  for (std::int64_t j = 0; j < count; ++j) {
    squares[j] += values[j] * values[j];
    places[j] += place(values[j]);
  }
}

struct Layout {
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;

  Layout(const Dims& shape, std::int64_t axis) {
    const auto at = static_cast<std::size_t>(axis);
    for (std::size_t i = 0; i < shape.size(); ++i) (i < at ? outer : i == at ? size : inner) *= shape[i];
  }
};

// Where the sums of one place of the axes in front are; measures only of results.
struct Targets {
  double* sums = nullptr;
  double* squares = nullptr;
  double* places = nullptr;
};

// Along an axis with many neighbours, piece by piece of these.
void sum_rows(const Tensor& source, const Layout& layout, const SignedSums& sums, std::int64_t outer,
              const SquaredPlace& place, const Targets& to) {
  std::array<double, most_neighbours> values{};
  const std::size_t width = size_of(source.dtype());
  for (std::int64_t from = 0; from < layout.inner; from += most_neighbours) {
    const std::int64_t count = std::min(most_neighbours, layout.inner - from);
    for (std::int64_t i = 0; i < layout.size; ++i) {
      const auto at = static_cast<std::size_t>((outer * layout.size + i) * layout.inner + from);
      load_run(source.dtype(), source.raw() + at * width, 1, count, values.data());
      const std::int64_t target = i % sums.count * layout.inner + from;
      add(values.data(), sums.signs[static_cast<std::size_t>(i)], count, to.sums + target);
      if (to.squares != nullptr) add_measures(values.data(), count, place, to.squares + target, to.places + target);
    }
  }
}

// Along an axis with few neighbours: in memory the sums repeat every so many elements.
void sum_periods(const Tensor& source, const Layout& layout, const std::vector<double>& signs, std::int64_t period,
                 std::int64_t outer, const SquaredPlace& place, const Targets& to) {
  const std::size_t width = size_of(source.dtype());
  const std::int64_t length = layout.size * layout.inner;
  const std::int64_t step = std::max(most_loaded / period, std::int64_t{1}) * period;
  std::vector<double> values(static_cast<std::size_t>(step));
  for (std::int64_t from = 0; from < length; from += step) {
    const std::int64_t loaded = std::min(step, length - from);
    load_run(source.dtype(), source.raw() + static_cast<std::size_t>(outer * length + from) * width, 1, loaded,
             values.data());
    for (std::int64_t at = 0; at < loaded; at += period) {
      const std::int64_t count = std::min(period, loaded - at);
      const double* sign = signs.data() + from + at;
      const double* value = values.data() + at;
      for (std::int64_t j = 0; j < count; ++j) to.sums[j] += sign[j] * value[j];
      if (to.squares != nullptr) add_measures(value, count, place, to.squares, to.places);
    }
  }
}

void sum_all(const Tensor& source, const Layout& layout, const SignedSums& sums, const Targets& to) {
  const SquaredPlace place(source.dtype());
  const std::int64_t period = sums.count * layout.inner;
  const bool in_periods = period <= most_loaded;
  std::vector<double> signs;
  if (in_periods) {
    for (const double sign : sums.signs) signs.insert(signs.end(), static_cast<std::size_t>(layout.inner), sign);
  }
  for (std::int64_t outer = 0; outer < layout.outer; ++outer) {
    const std::int64_t at = outer * period;
    const Targets here{to.sums + at, to.squares == nullptr ? nullptr : to.squares + at,
                       to.places == nullptr ? nullptr : to.places + at};
    if (in_periods) {
      sum_periods(source, layout, signs, period, outer, place, here);
    } else {
      sum_rows(source, layout, sums, outer, place, here);
    }
  }
}

Tensor zero_sums(const Dims& shape, std::int64_t axis, std::int64_t count) {
  Dims reduced = shape;
  reduced[static_cast<std::size_t>(axis)] = count;
  return Tensor::zeros(DType::float64, reduced);
}

}  // namespace

Tensor signed_sums(const Tensor& tensor, std::int64_t axis, const SignedSums& sums) {
  const Tensor source = tensor.contiguous();
  Tensor result = zero_sums(source.shape(), axis, sums.count);
  sum_all(source, Layout(source.shape(), axis), sums, {result.mutable_data<double>()});
  return result;
}

ResultSums result_sums(const Tensor& result, std::int64_t axis, const SignedSums& sums) {
  const Tensor source = result.contiguous();
  ResultSums all{zero_sums(source.shape(), axis, sums.count), zero_sums(source.shape(), axis, sums.count),
                 zero_sums(source.shape(), axis, sums.count)};
  sum_all(source, Layout(source.shape(), axis), sums,
          {all.sums.mutable_data<double>(), all.squares.mutable_data<double>(), all.places.mutable_data<double>()});
  return all;
}

}  // namespace msrun
