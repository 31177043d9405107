#include "runner/check/complex_rows.h"

#include "kernels/tensor/complex.h"

namespace msrun {

bool is_complex_row(const Comparison& comparison, std::size_t row) {
  const auto& [bench, device] = comparison.pairs[row];
  return is_complex(bench.dtype()) && is_complex(device.dtype());
}

Comparison with_parts(const Comparison& comparison, std::size_t row) {
  Comparison parts;
  parts.rows = comparison.rows;
  parts.of_gradients = comparison.of_gradients;
  parts.pairs.resize(comparison.pairs.size());
  const auto& [bench, device] = comparison.pairs[row];
  parts.pairs[row] = {pairs_of(bench).contiguous(), pairs_of(device).contiguous()};
  return parts;
}

Explainer::Select parts_of_row(const Explainer::Select& select, std::size_t row) {
  return [&select, row](const Evaluation& evaluation) {
    std::vector<Value> values = select(evaluation);
    const Tensor* tensor = row < values.size() ? values[row].get<Tensor>() : nullptr;
    if (tensor != nullptr && is_complex(tensor->dtype())) values[row] = pairs_of(*tensor).contiguous();
    return values;
  };
}

}  // namespace msrun
