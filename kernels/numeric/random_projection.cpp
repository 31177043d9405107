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
// Of a tensor that are read for all its sums before the next ones.
constexpr std::int64_t slab_bytes = 256 << 10;

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

// Where the sums along an axis go; measures only of results.
struct Targets {
  double* sums = nullptr;
  double* squares = nullptr;
  double* places = nullptr;

  Targets at(std::int64_t offset) const {
    return {sums + offset, squares == nullptr ? nullptr : squares + offset,
            places == nullptr ? nullptr : places + offset};
  }
};

// The sums of one tensor along one axis. They are formed slab by slab of the first axis, so that those along several
// axes read a slab while it is near.
class Summation {
 public:
  Summation(const Tensor& source, std::int64_t axis, const SignedSums& sums, const Targets& to)
      : source_(source),
        layout_(source.shape(), axis),
        sums_(sums),
        to_(to),
        place_(source.dtype()),
        width_(static_cast<std::int64_t>(size_of(source.dtype()))),
        period_(sums.count * layout_.inner) {
    if (period_ > most_loaded) return;
    for (const double sign : sums.signs) signs_.insert(signs_.end(), static_cast<std::size_t>(layout_.inner), sign);
    values_.resize(static_cast<std::size_t>(std::max(most_loaded / period_, std::int64_t{1}) * period_));
  }

  // Adds places [first, last) of the first axis.
  void add(std::int64_t first, std::int64_t last) {
    const std::int64_t leading = source_.size(0);
    if (layout_.outer == 1 && layout_.size == leading) return add_places(0, first, last);
    const std::int64_t each = layout_.outer / leading;
    for (std::int64_t outer = first * each; outer < last * each; ++outer) add_places(outer, 0, layout_.size);
  }

 private:
  void add_places(std::int64_t outer, std::int64_t first, std::int64_t last) {
    const Targets to = to_.at(outer * period_);
    if (signs_.empty()) {
      add_rows(outer, first, last, to);
    } else {
      add_periods(outer, first, last, to);
    }
  }

  void load(std::int64_t element, std::int64_t count, double* values) const {
    load_run(source_.dtype(), source_.raw() + element * width_, 1, count, values);
  }

  // Along an axis with many neighbours, piece by piece of these.
  void add_rows(std::int64_t outer, std::int64_t first, std::int64_t last, const Targets& to) const {
    std::array<double, most_neighbours> values{};
    for (std::int64_t from = 0; from < layout_.inner; from += most_neighbours) {
      const std::int64_t count = std::min(most_neighbours, layout_.inner - from);
      for (std::int64_t i = first; i < last; ++i) {
        load((outer * layout_.size + i) * layout_.inner + from, count, values.data());
        const Targets here = to.at(i % sums_.count * layout_.inner + from);
        const double sign = sums_.signs[static_cast<std::size_t>(i)];
        for (std::int64_t j = 0; j < count; ++j) here.sums[j] += sign * values[static_cast<std::size_t>(j)];
        if (here.squares != nullptr) add_measures(values.data(), count, place_, here.squares, here.places);
      }
    }
  }

  // Along an axis with few neighbours: in memory the sums repeat every so many elements. The first place is one at
  // which they begin anew.
  void add_periods(std::int64_t outer, std::int64_t first, std::int64_t last, const Targets& to) {
    const std::int64_t end = last * layout_.inner;
    for (std::int64_t from = first * layout_.inner; from < end; from += std::ssize(values_)) {
      const std::int64_t loaded = std::min(std::ssize(values_), end - from);
      load(outer * layout_.size * layout_.inner + from, loaded, values_.data());
      for (std::int64_t at = 0; at < loaded; at += period_) {
        const std::int64_t count = std::min(period_, loaded - at);
        const double* sign = signs_.data() + from + at;
        const double* value = values_.data() + at;
        for (std::int64_t j = 0; j < count; ++j) to.sums[j] += sign[j] * value[j];
        if (to.squares != nullptr) add_measures(value, count, place_, to.squares, to.places);
      }
    }
  }

  const Tensor& source_;
  Layout layout_;
  const SignedSums& sums_;
  Targets to_;
  SquaredPlace place_;
  std::int64_t width_;
  std::int64_t period_;         // of the sums in memory
  std::vector<double> signs_;   // of every element, where the axis has few neighbours
  std::vector<double> values_;  // room for some periods
};

// Slabs of a row-major tensor along its first axis: some that stay in the second-level cache, each a multiple of every
// number of sums along that axis.
void sum_in_slabs(const Tensor& source, std::span<const AxisSums> axes, std::vector<Summation>& summations) {
  if (source.numel() == 0) return;
  const std::int64_t leading = source.size(0);
  std::int64_t step = std::max<std::int64_t>(1, slab_bytes / (static_cast<std::int64_t>(source.bytes()) / leading));
  for (const AxisSums& along : axes) {
    if (along.axis == 0) step = (step + along.sums->count - 1) / along.sums->count * along.sums->count;
  }
  for (std::int64_t first = 0; first < leading; first += step) {
    for (Summation& summation : summations) summation.add(first, std::min(leading, first + step));
  }
}

Tensor zero_sums(const Dims& shape, const AxisSums& along) {
  Dims reduced = shape;
  reduced[static_cast<std::size_t>(along.axis)] = along.sums->count;
  return Tensor::zeros(DType::float64, reduced);
}

}  // namespace

std::vector<Tensor> signed_sums(const Tensor& tensor, std::span<const AxisSums> axes) {
  const Tensor source = tensor.contiguous();
  std::vector<Tensor> results;
  std::vector<Summation> summations;
  for (const AxisSums& along : axes) {
    Tensor& result = results.emplace_back(zero_sums(source.shape(), along));
    summations.emplace_back(source, along.axis, *along.sums, Targets{result.mutable_data<double>()});
  }
  sum_in_slabs(source, axes, summations);
  return results;
}

std::vector<ResultSums> result_sums(const Tensor& result, std::span<const AxisSums> axes) {
  const Tensor source = result.contiguous();
  std::vector<ResultSums> results;
  std::vector<Summation> summations;
  for (const AxisSums& along : axes) {
    ResultSums& sums = results.emplace_back(ResultSums{
        zero_sums(source.shape(), along), zero_sums(source.shape(), along), zero_sums(source.shape(), along)});
    summations.emplace_back(source, along.axis, *along.sums,
                            Targets{sums.sums.mutable_data<double>(), sums.squares.mutable_data<double>(),
                                    sums.places.mutable_data<double>()});
  }
  sum_in_slabs(source, axes, summations);
  return results;
}

}  // namespace msrun
