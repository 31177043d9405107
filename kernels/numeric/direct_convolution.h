// The three products of a convolution over dense arrays, below the tape: the output, the gradient of the input (which
// is also the transposed convolution) and that of the weight. No columns are laid out: an input is copied once, padded
// and with its stride taken apart, and every kernel position then reads it at a fixed offset.
#pragma once

#include <cstdint>

#include "kernels/numeric/evaluation_context.h"
#include "kernels/numeric/sliding_windows.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// x [batch, channels_in, windows.input], w [channels_out, channels_in / groups, windows.kernel], y [batch,
// channels_out, windows.output]. Both channel counts are multiples of groups; no size is 0.
struct Convolution {
  Windows windows;
  std::int64_t batch = 1;
  std::int64_t channels_in = 1;
  std::int64_t channels_out = 1;
  std::int64_t groups = 1;

  std::int64_t in_per_group() const { return channels_in / groups; }
  std::int64_t out_per_group() const { return channels_out / groups; }
  // Factors that are summed for one element of y.
  std::int64_t column_length() const { return in_per_group() * windows.kernel_size(); }
};

// Throws SkipError for a convolution of which more is computed than any call may take without nearly all of it being
// products with padding: a kernel or a padding that is as many times larger than the input as a damaged number makes
// it. For the three products alike.
void refuse_padding(const Convolution& c);

// T is float or double. Sums are formed in T, in pieces of at most a few hundred terms; in order where the arithmetic
// has an accumulator that rounds (float only). Its summation may drop the last term, which for an element at a border
// can be a product with padding. Throw SkipError where the padded input would exceed the memory of the call.
//
// Where such an accumulator is given, the sums of each output channel begin with its element of `start`, which is null
// or has channels_out elements; other sums begin with 0 whatever it is.
template <class T>
void convolve(const Convolution& c, const T* x, const T* w, T* y, const EvaluationContext& context,
              const T* start = nullptr);

// The gradient of x for the gradient g of y.
template <class T>
void convolve_for_input(const Convolution& c, const T* g, const T* w, T* x, const EvaluationContext& context);

// The gradient of w for the gradient g of y.
template <class T>
void convolve_for_weight(const Convolution& c, const T* x, const T* g, T* w, const EvaluationContext& context);

}  // namespace msrun
