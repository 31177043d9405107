// Which part of a product a sampled check looks at: of each index some places, whose rows or columns are computed in
// full, and random sums over all of them (kernels/numeric/random_projection.h). Drawn by seed and name of the call.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/product_axes.h"
#include "kernels/evaluate/materialise.h"
#include "kernels/numeric/random_projection.h"

namespace msrun {

struct AxisSample {
  TensorAxis axis;                   // its result, if it has one, counts from 0
  std::vector<std::int64_t> places;  // rising
  SignedSums sums;

  // Whether the tensor of that number among the arguments has the index.
  bool has_argument(std::size_t tensor) const;
  // Whether random sums of the result are those that the call gives for random sums of its arguments.
  bool sums_result() const { return axis.result && !axis.adds; }
  // What is computed of the call, as a share of all.
  double cost() const;
};

// Samples of those of the call's indices that are long enough to save anything. The result has that rank.
std::vector<AxisSample> draw_samples(const Operator& op, const MaterialisedCall& call, std::int64_t result_rank,
                                     std::uint64_t seed);

// The tensor at these places of an axis.
Tensor at_places(const Tensor& tensor, std::int64_t axis, const std::vector<std::int64_t>& places);

// The call for the places, in its own dtypes; gradients are asked for only where they are those at these places.
MaterialisedCall at_places(const MaterialisedCall& call, const AxisSample& sample);

// For each sample the random sums of the call's inputs, in their order: the arguments, then the gradients of results.
// Undefined for an input that does not have the index.
std::vector<std::vector<Tensor>> sums_of_inputs(const MaterialisedCall& call, const std::vector<AxisSample>& samples);

// The call for the random sums of its inputs, which are those of the sample, and behind these for the drawn places, in
// one: what is prepared of the other arguments, is prepared once. Computed in float64, or for half types in float32, in
// which their sums are exact but for what is far below a half type's place.
MaterialisedCall with_sums(const MaterialisedCall& call, const AxisSample& sample, const std::vector<Tensor>& sums);

// The dtype that with_sums computes in.
DType dtype_of_sums(const MaterialisedCall& call);

}  // namespace msrun
