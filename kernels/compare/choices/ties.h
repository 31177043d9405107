// Index outputs where elements are tied (decision 17): which of several equal elements sort, topk or argmax names is
// free.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/api/operator_traits.h"
#include "kernels/api/value.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// Whether indices of that kind are the second output, beside the values that they select.
constexpr bool are_beside_values(IndexOutput indices) {
  return indices == IndexOutput::of_values || indices == IndexOutput::of_softmax;
}

// The outputs and the first input of one call; null where absent. There are values where are_beside_values, and the
// input always.
struct TiePair {
  const Tensor* bench_values = nullptr;
  const Tensor* device_values = nullptr;
  const Tensor* bench_indices = nullptr;
  const Tensor* device_indices = nullptr;
  const Tensor* input = nullptr;
};

// How many of the positions whose indices differ are right nevertheless, and how many are wrong.
struct TieResult {
  std::int64_t accepted = 0;
  std::int64_t wrong = 0;
};

// An index is right if the values of both sides agree exactly, if the input has that value there, and if no index that
// must be unique occurs twice. Indices of probabilities, which sides compute differently, are right if the input makes
// these equal but for rounding. The axis is found from the input: it is the one along which the benchmark's own indices
// make sense. Nothing if the tensors do not fit the operator's ties, or the input is not known.
std::optional<TieResult> judge_ties(const TieRule& ties, const TiePair& pair);

// Whether a call asks for equal elements in the order of the input (stable=True): then none of them may be named in
// place of another.
bool keeps_order_of_ties(const Dict& kwargs);

// Among which elements a call picks: those along an axis, or, without one, all.
struct PickedFrom {
  std::optional<std::int64_t> axis;
  bool operator==(const PickedFrom&) const = default;
};

// As the arguments of a call say; nothing for a call that reduces the whole tensor and shares the gradient, or that
// keeps_order_of_ties.
std::optional<PickedFrom> picked_from(const PickedAxis& picks, const List& args, const Dict& kwargs);

// Which of several equal elements was picked is free, and so is which of them got the gradient: the benchmark's
// gradient with the parts of equal elements exchanged so that they stand in the order of the device's. Nothing if that
// changes nothing or the shapes differ.
std::optional<Tensor> exchange_tied_gradients(const Tensor& input, const PickedFrom& from, const Tensor& bench,
                                              const Tensor& device);

}  // namespace msrun
