// One output or gradient that is judged, and where it is in another evaluation of its call.
#pragma once

#include <functional>
#include <optional>

#include "kernels/compare/compare.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/numeric/sums.h"

namespace msrun {

// The tensor that an evaluation has in the place of a row; nothing if it has none.
using RowOf = std::function<std::optional<Tensor>(const Evaluation&)>;

struct RowCase {
  Comparison::Pair pair;  // both floating, and of one shape
  bool of_gradients = false;
  bool passes = false;  // by its Status
  SumStatistics sums;   // behind it
  RowOf of_any_shape;

  // The tensor of an evaluation, if it is of the benchmark's shape.
  std::optional<Tensor> of(const Evaluation& evaluation) const {
    std::optional<Tensor> tensor = of_any_shape(evaluation);
    return tensor && tensor->shape() == pair.bench.shape() ? std::move(tensor) : std::nullopt;
  }

  // The same row of a part of the call.
  RowCase part(Tensor bench, Tensor device) const {
    RowCase part = *this;
    part.pair = {std::move(bench), std::move(device)};
    return part;
  }
};

}  // namespace msrun
