#include "kernels/numeric/stored_columns.h"

#include <algorithm>
#include <vector>

#include "kernels/numeric/gemm.h"

namespace msrun {
namespace {

double stored(double value) { return static_cast<double>(static_cast<float>(value)); }

}  // namespace

Tensor convolve_for_input_by_columns(const Convolution& c, const Tensor& g, const Tensor& w, const Dims& shape) {
  Tensor result = Tensor::zeros(DType::float64, shape);
  const std::int64_t rows = c.column_length();
  const std::int64_t positions = c.windows.output_size();
  const std::int64_t channels = c.out_per_group();
  std::vector<double> columns(static_cast<std::size_t>(rows * positions));
  for (std::int64_t i = 0; i < c.batch * c.groups; ++i) {
    const MatrixView<double> weight{w.data<double>() + i % c.groups * channels * rows, channels, rows, rows, 1};
    const MatrixView<double> gradient{g.data<double>() + i * channels * positions, channels, positions, positions, 1};
    gemm(weight.transposed(), gradient, columns.data(), positions, false);
    std::ranges::transform(columns, columns.begin(), stored);
    add_columns_to_windows(c.windows, c.in_per_group(), columns.data(), 0, positions,
                           result.mutable_data<double>() + i * c.in_per_group() * c.windows.input_size(),
                           Accumulator::wide);
  }
  return result;
}

Tensor convolve_for_weight_by_samples(const EvaluationContext& context, const Convolution& c, const Tensor& x,
                                      const Tensor& g, const Dims& shape) {
  const EvaluationContext sound = context.with_sound_arithmetic();
  Convolution one = c;
  one.batch = 1;
  Tensor result = Tensor::zeros(DType::float64, shape);
  Tensor part(DType::float64, shape);
  for (std::int64_t i = 0; i < c.batch; ++i) {
    convolve_for_weight(one, x.data<double>() + i * c.channels_in * c.windows.input_size(),
                        g.data<double>() + i * c.channels_out * c.windows.output_size(), part.mutable_data<double>(),
                        sound);
    double* sums = result.mutable_data<double>();
    for (std::int64_t k = 0; k < result.numel(); ++k) sums[k] = stored(sums[k] + part.data<double>()[k]);
  }
  return result;
}

}  // namespace msrun
