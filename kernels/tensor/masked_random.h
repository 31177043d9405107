// Random tensors with masked places. Where one recorded extremum is a number that masks are made of and the other is an
// ordinary one, what was recorded had ordinary numbers beside masked places. Drawn uniformly from all that lies between
// the extrema, every element would be as far away as the mask, and no two of a row comparable: a softmax over it has
// one element of weight 1, whatever else the device computes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/tensor/random.h"

namespace msrun {

struct MaskedRange {
  // What is at masked places: infinite, the largest number of float16, or 1e30 and more.
  double mask;
  // Between which all other elements lie. The one that is recorded is the end of the range away from the mask.
  double low;
  double high;
  // The recorded extrema.
  double first;
  double last;
  // How many of all elements are masked: from the recorded mean, which shows it where it is finite, else one half.
  double share;
};

// Nothing for a tensor without masked places: one that is not floating, or so small that both elements are known.
std::optional<MaskedRange> masked_range(DType dtype, std::span<const std::int64_t> shape, const ValueRange& range,
                                        std::optional<double> mean);

// Ordinary numbers and, at random places, the mask; the recorded extrema are the first and the last element. No row
// along the last axis, of two elements or more, is masked altogether: nothing but NaN would be left of it in a softmax.
Tensor masked_tensor(DType dtype, std::span<const std::int64_t> shape, const MaskedRange& range, RandomWords& words);

}  // namespace msrun
