// Sums of a tensor's elements along one axis with random signs: a check of products by a few of them (Freivalds,
// "Probabilistic machines can use less running time", IFIP Congress 1977; with the buckets of Charikar, Chen and
// Farach-Colton, "Finding frequent items in data streams", ICALP 2002).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace msrun {

// Place i of an axis belongs to sum i mod count.
struct SignedSums {
  std::int64_t count = 1;     // at least 1 and at most the size of the axis
  std::vector<double> signs;  // 1 or -1, one for each place of the axis
};

// Along an axis, from 0, of a tensor.
struct AxisSums {
  std::int64_t axis = 0;
  const SignedSums* sums = nullptr;
};

// For each of these the tensor with the axis replaced by its sums, in float64. Floating dtypes of at most 64 bits; the
// tensor is read once for all of them.
std::vector<Tensor> signed_sums(const Tensor& tensor, std::span<const AxisSums> axes);

// The sums of a rounded result, and what is behind each of them; all float64 of the shape of the sums.
struct ResultSums {
  Tensor sums;
  Tensor squares;  // sum of the squares of the elements
  Tensor places;   // sum of the squares of their units in the last place
};
std::vector<ResultSums> result_sums(const Tensor& result, std::span<const AxisSums> axes);

}  // namespace msrun
