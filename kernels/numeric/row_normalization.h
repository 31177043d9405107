// Normalisation of rows by their mean and variance, and its gradient: one kernel for every norm.
//
// A norm has the form [rows, channels, space]: the statistics belong to a row, the affine parameters to a channel. Rows
// need not be contiguous: those of a batch norm are made of parts that lie a sample apart.
#pragma once

#include <cstdint>

#include "kernels/numeric/rows.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

enum class NormStatistics : std::uint8_t {
  mean_and_variance,
  mean_square,  // rms norm: no mean is subtracted
  given,        // constants, as batch norm in evaluation uses
};

struct NormLayout {
  std::int64_t rows = 1;
  std::int64_t channels = 1;  // of one row
  std::int64_t space = 1;     // elements of one channel in one row
  std::int64_t groups = 1;    // rows r and r + groups share their affine parameters
  NormStatistics statistics = NormStatistics::mean_and_variance;
  double epsilon = 0;
  // Whether frameworks make the gradients of two sums, of g x and of g, and subtract the mean times the second from the
  // first: what is left of rows far from zero, or of equal elements, is rounding. A rough computation does so.
  bool gradients_from_sums = false;
  // Whether rows of equal elements become zeros where epsilon is 0, as those of batch norm do.
  bool flat_rows_are_zero = false;
  // Whether given statistics are made a factor and a summand of their own first, as kernels on processors have them:
  // where the factor is infinite, the summand is infinite or no number.
  bool scales_and_shifts = false;
  // Whether the variance is formed in float64, as that of a benchmark in float32 is, whose squares may leave its range
  // where those of a device do not.
  bool wide_variance = false;
  Summation summation;
  std::uint32_t jitter_seed = 0;  // of a rough computation (roughness.h)
  RowLayout memory;               // how the rows lie in the tensor

  std::int64_t row_length() const { return channels * space; }
  std::int64_t parameters() const { return channels * groups; }
};

// Row-major tensors, all but x in its compute dtype. weight and bias may be undefined.
struct NormOperands {
  Tensor x;
  Tensor weight;
  Tensor bias;
  Tensor mean;  // of each row; zeros for mean_square
  Tensor rstd;
};

// Normalises x, of any floating dtype, and rounds once to that dtype. Fills mean and rstd unless they are given.
Tensor normalise_rows(NormOperands& operands, const NormLayout& layout);

struct NormGradients {
  Tensor x;
  Tensor weight;  // [parameters], float64, as is bias; both undefined if they were not asked for
  Tensor bias;
};

// The gradients of the operands for the row-major `gradient` of the result. operands are those that normalise_rows
// left; `parameters` asks for the gradients of weight and bias.
NormGradients normalise_rows_backward(const NormOperands& operands, const Tensor& gradient, const NormLayout& layout,
                                      bool parameters);

}  // namespace msrun
