#include "runner/judge/complex_rows.h"

#include "kernels/tensor/complex.h"

namespace msrun {

RowCase with_parts(const RowCase& row) {
  RowCase parts = row.with(row.call, pairs_of(row.pair.bench).contiguous(), pairs_of(row.pair.device).contiguous());
  parts.of_any_shape = [&row](const Evaluation& evaluation) {
    std::optional<Tensor> tensor = row.of_any_shape(evaluation);
    return tensor && is_complex(tensor->dtype()) ? std::optional(pairs_of(*tensor).contiguous()) : tensor;
  };
  return parts;
}

}  // namespace msrun
