#include "kernels/numeric/row_normalization.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/numeric/roughness.h"
#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

template <class T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

template <class T>
void row_statistics(const T* x, const NormLayout& layout, T& mean, T& rstd) {
  const std::int64_t count = layout.row_length();
  const T size = static_cast<T>(count);
  T centre = 0;
  if (layout.statistics == NormStatistics::mean_and_variance) {
    centre = row_sum<T>(count, layout.summation, [x](std::int64_t i) { return x[i]; }) / size;
    // The mean is within the range where the sum is not.
    if (!std::isfinite(centre))
      centre = row_sum<T>(count, layout.summation, [x, size](std::int64_t i) { return x[i] / size; });
  }
  const T squares = row_sum<T>(count, layout.summation, [x, centre](std::int64_t i) {
    const T d = x[i] - centre;
    return d * d;
  });
  mean = centre;
  rstd = T{1} / std::sqrt(squares / size + static_cast<T>(layout.epsilon));
  if (layout.wide_variance && std::isinf(squares) && std::isfinite(centre)) {
    const double of_row = row_sum<double>(count, layout.summation, [x, centre](std::int64_t i) {
      const double d = static_cast<double>(x[i]) - static_cast<double>(centre);
      return d * d;
    });
    rstd = static_cast<T>(1 / std::sqrt(of_row / static_cast<double>(count) + layout.epsilon));
  }
  if (layout.flat_rows_are_zero && squares == 0 && layout.epsilon == 0) rstd = 0;
  if (const std::uint32_t seed = layout.jitter_seed; seed != 0) {
    mean = off_by_a_place(mean, seed);
    // Beyond the range frameworks have the difference of two infinities, or a quotient.
    rstd = std::isinf(squares) ? std::numeric_limits<T>::quiet_NaN() : off_by_a_place(rstd, seed);
  }
}

// x times an infinite factor, and what is left of the mean times that factor.
template <class T>
void scale_and_shift_row(const T* x, const T* weight, const T* bias, T mean, T rstd, const NormLayout& layout, T* y) {
  for (std::int64_t c = 0; c < layout.channels; ++c, x += layout.space, y += layout.space) {
    const T scale = weight == nullptr ? rstd : rstd * weight[c];
    const T shift = (bias == nullptr ? T{0} : bias[c]) - mean * scale;
    for (std::int64_t i = 0; i < layout.space; ++i) y[i] = x[i] * scale + shift;
  }
}

template <class T>
void apply_row(const T* x, const T* weight, const T* bias, T mean, T rstd, const NormLayout& layout, T* y) {
  if (layout.scales_and_shifts && std::isinf(rstd)) return scale_and_shift_row(x, weight, bias, mean, rstd, layout, y);
  if (layout.space == 1 && weight != nullptr && bias != nullptr) {
    for (std::int64_t i = 0; i < layout.channels; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
    return;
  }
  if (layout.space == 1) {
    for (std::int64_t i = 0; i < layout.channels; ++i) y[i] = (x[i] - mean) * rstd;
    if (weight != nullptr) {
      for (std::int64_t i = 0; i < layout.channels; ++i) y[i] *= weight[i];
    }
    if (bias != nullptr) {
      for (std::int64_t i = 0; i < layout.channels; ++i) y[i] += bias[i];
    }
    return;
  }
  for (std::int64_t c = 0; c < layout.channels; ++c, x += layout.space, y += layout.space) {
    const T scale = weight == nullptr ? T{1} : weight[c];
    const T shift = bias == nullptr ? T{0} : bias[c];
    for (std::int64_t i = 0; i < layout.space; ++i) y[i] = (x[i] - mean) * rstd * scale + shift;
  }
}

// Fills mean and rstd unless they are given.
template <class T>
Tensor forward(NormOperands& operands, const NormLayout& layout) {
  Tensor y(operands.x.dtype(), operands.x.shape());
  if (layout.statistics != NormStatistics::given) {
    const Dims rows{layout.rows};
    operands.mean = Tensor(own_dtype<T>, rows);
    operands.rstd = Tensor(own_dtype<T>, rows);
  }
  const T* weight = data_or_null<T>(operands.weight);
  const T* bias = data_or_null<T>(operands.bias);
  RowReader<T> reader(operands.x, layout.memory);
  RowWriter<T> writer(y, layout.memory);
  for (std::int64_t r = 0; r < layout.rows; ++r) {
    const T* x = reader.read(r);
    if (layout.statistics != NormStatistics::given) {
      row_statistics(x, layout, operands.mean.mutable_data<T>()[r], operands.rstd.mutable_data<T>()[r]);
    }
    const std::int64_t first = r % layout.groups * layout.channels;
    apply_row(x, weight == nullptr ? nullptr : weight + first, bias == nullptr ? nullptr : bias + first,
              operands.mean.data<T>()[r], operands.rstd.data<T>()[r], layout, writer.write(r));
    writer.store(r);
  }
  return y;
}

// Sums over rows, one for each parameter: in double, or as the accumulator holds them.
class ParameterGradient {
 public:
  ParameterGradient(const NormLayout& layout)
      : sums_(static_cast<std::size_t>(layout.parameters())), accumulator_(layout.summation.accumulator) {}

  template <class T>
  void add(std::int64_t at, T value) {
    double& sum = sums_[static_cast<std::size_t>(at)];
    sum += static_cast<double>(value);
    if (!std::is_same_v<T, float> || accumulator_ == Accumulator::wide) return;
    sum = with_accumulator(accumulator_,
                           [sum]<Accumulator A>(std::integral_constant<Accumulator, A>) { return held<A>(sum); });
  }
  // f(i) to the sums from `first` on.
  template <class T, class F>
  void add_run(std::int64_t first, std::int64_t count, const F& f) {
    if (std::is_same_v<T, float> && accumulator_ != Accumulator::wide) {
      for (std::int64_t i = 0; i < count; ++i) add<T>(first + i, f(i));
      return;
    }
    double* sums = sums_.data() + first;
    for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<double>(f(i));
  }
  Tensor tensor(const Dims& shape) const { return Tensor::from<double>(DType::float64, shape, sums_); }

 private:
  std::vector<double> sums_;
  Accumulator accumulator_;
};

// The sum of g (x - mean) from those of g x and of g, each as a device may store it.
template <class T>
T sum_of_products(const T* x, const T* g, T mean, std::int64_t count, const NormLayout& layout, std::uint32_t seed) {
  const T products = row_sum<T>(count, layout.summation, [=](std::int64_t i) { return g[i] * x[i]; });
  const T gradients = row_sum<T>(count, layout.summation, [g](std::int64_t i) { return g[i]; });
  return rough_step(products, seed) - rough_step(rough_step(gradients, seed) * mean, seed);
}

template <class T>
void backward_row(const T* x, const T* g, const T* weight, T mean, T rstd, const NormLayout& layout, T* scratch,
                  T* result) {
  const std::int64_t count = layout.row_length();
  // scratch: the gradient of the normalised row.
  if (weight == nullptr) {
    std::copy_n(g, count, scratch);
  } else if (layout.space == 1) {
    for (std::int64_t i = 0; i < count; ++i) scratch[i] = g[i] * weight[i];
  } else {
    for (std::int64_t c = 0; c < layout.channels; ++c) {
      const T scale = weight[c];
      for (std::int64_t i = c * layout.space; i < (c + 1) * layout.space; ++i) scratch[i] = g[i] * scale;
    }
  }
  if (layout.statistics == NormStatistics::given) {
    for (std::int64_t i = 0; i < count; ++i) result[i] = scratch[i] * rstd;
    return;
  }
  const T size = static_cast<T>(count);
  T average = 0;
  const std::uint32_t seed = layout.jitter_seed;
  if (layout.statistics == NormStatistics::mean_and_variance) {
    average = row_sum<T>(count, layout.summation, [scratch](std::int64_t i) { return scratch[i]; }) / size;
    // Of a row of one element it is what it is subtracted from, and 1 / sqrt(epsilon) times a place is left where a
    // device forms both in other ways; two places where it forms them of sums.
    const T exact = average;
    if (seed != 0) average = a_place_beside(average, seed);
    if (seed != 0 && layout.gradients_from_sums) average += average - exact;
  }
  if (seed != 0 && layout.gradients_from_sums) {
    const T slope = sum_of_products(x, scratch, mean, count, layout, seed) * rstd * rstd * rstd / size;
    const T shift = rough_step(slope * mean, seed);
    for (std::int64_t i = 0; i < count; ++i)
      result[i] = rstd * (scratch[i] - average) - rough_step(slope * x[i], seed) + shift;
    return;
  }
  const T projection =
      row_sum<T>(count, layout.summation, [=](std::int64_t i) { return scratch[i] * ((x[i] - mean) * rstd); }) / size;
  for (std::int64_t i = 0; i < count; ++i) {
    result[i] = rstd * (scratch[i] - average - (x[i] - mean) * rstd * projection);
  }
}

template <class T>
void add_parameter_gradients(const T* x, const T* g, T mean, T rstd, std::int64_t first, const NormLayout& layout,
                             ParameterGradient& weight, ParameterGradient& bias) {
  if (const std::uint32_t seed = layout.jitter_seed; seed != 0 && layout.gradients_from_sums) {
    for (std::int64_t c = 0; c < layout.channels; ++c, x += layout.space, g += layout.space) {
      weight.add(first + c, sum_of_products(x, g, mean, layout.space, layout, seed) * rstd);
      bias.add(first + c, row_sum<T>(layout.space, layout.summation, [g](std::int64_t i) { return g[i]; }));
    }
    return;
  }
  if (layout.scales_and_shifts && std::isinf(rstd)) {
    // The sum is finite, or 0, before it meets the infinite factor.
    for (std::int64_t c = 0; c < layout.channels; ++c, x += layout.space, g += layout.space) {
      const auto product = [=](std::int64_t i) { return g[i] * (x[i] - mean); };
      weight.add(first + c, row_sum<T>(layout.space, layout.summation, product) * rstd);
      bias.add(first + c, row_sum<T>(layout.space, layout.summation, [=](std::int64_t i) { return g[i]; }));
    }
    return;
  }
  if (layout.space == 1) {
    weight.add_run<T>(first, layout.channels, [=](std::int64_t i) { return g[i] * ((x[i] - mean) * rstd); });
    bias.add_run<T>(first, layout.channels, [=](std::int64_t i) { return g[i]; });
    return;
  }
  for (std::int64_t c = 0; c < layout.channels; ++c, x += layout.space, g += layout.space) {
    const auto product = [=](std::int64_t i) { return g[i] * ((x[i] - mean) * rstd); };
    weight.add(first + c, row_sum<T>(layout.space, layout.summation, product));
    bias.add(first + c, row_sum<T>(layout.space, layout.summation, [=](std::int64_t i) { return g[i]; }));
  }
}

template <class T>
NormGradients backward(const NormOperands& operands, const Tensor& gradient, const NormLayout& layout,
                       bool parameters) {
  NormGradients result{Tensor(operands.x.dtype(), operands.x.shape()), {}, {}};
  ParameterGradient weight_sums(layout);
  ParameterGradient bias_sums(layout);
  const T* weight = data_or_null<T>(operands.weight);
  std::vector<T> scratch(static_cast<std::size_t>(layout.row_length()));
  RowReader<T> inputs(operands.x, layout.memory);
  RowReader<T> gradients(gradient, layout.memory);
  RowWriter<T> writer(result.x, layout.memory);
  for (std::int64_t r = 0; r < layout.rows; ++r) {
    const T* x = inputs.read(r);
    const T* g = gradients.read(r);
    const T mean = operands.mean.data<T>()[r];
    const T rstd = operands.rstd.data<T>()[r];
    const std::int64_t first = r % layout.groups * layout.channels;
    backward_row(x, g, weight == nullptr ? nullptr : weight + first, mean, rstd, layout, scratch.data(),
                 writer.write(r));
    writer.store(r);
    if (parameters) add_parameter_gradients(x, g, mean, rstd, first, layout, weight_sums, bias_sums);
  }
  if (parameters) {
    const Dims shape{layout.parameters()};
    result.weight = weight_sums.tensor(shape);
    result.bias = bias_sums.tensor(shape);
  }
  return result;
}

}  // namespace

Tensor normalise_rows(NormOperands& operands, const NormLayout& layout) {
  return visit_compute(operands.x.dtype(), [&](auto element) { return forward<decltype(element)>(operands, layout); });
}

NormGradients normalise_rows_backward(const NormOperands& operands, const Tensor& gradient, const NormLayout& layout,
                                      bool parameters) {
  return visit_compute(operands.x.dtype(), [&](auto element) {
    return backward<decltype(element)>(operands, gradient, layout, parameters);
  });
}

}  // namespace msrun
