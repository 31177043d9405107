// Routing of tokens to experts, and the fused sort (api_inventory.md 4.14, 4.15).
#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/ordering.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

// The k largest probabilities of every row in falling order, equal ones by rising index; the experts they belong to,
// the number of experts for finished rows; and column * rows + row.
Value gating_top_k_softmax(const Var& input, const std::optional<Var>& finished, std::int64_t k) {
  if (input.rank() != 2 && input.rank() != 3) throw SkipError("npu_moe_gating_top_k_softmax needs 2 or 3 dimensions.");
  const std::int64_t experts = input.size(-1);
  if (k < 1 || k > experts)
    throw SkipError("npu_moe_gating_top_k_softmax: k must be between 1 and the number of experts.");
  Raised raised;
  const Var probabilities = softmax(raised(input), -1);
  const Tensor index = top_index(probabilities.tensor(), -1, k, true);
  const Var y = raised.back(gather(probabilities, -1, index));
  Tensor expert(DType::int32, index.shape());
  Tensor row_index(DType::int32, index.shape());
  const Tensor chosen = index.contiguous();
  const std::int64_t rows = chosen.numel() / k;
  Tensor done;
  if (finished) {
    if (finished->numel() != rows) throw SkipError("npu_moe_gating_top_k_softmax: finished needs one flag per row.");
    done = finished->tensor().to(DType::boolean).contiguous();
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool skip = done.defined() && done.data<std::uint8_t>()[row] != 0;
    for (std::int64_t column = 0; column < k; ++column) {
      const std::int64_t at = row * k + column;
      const std::int64_t own = skip ? experts : chosen.data<std::int64_t>()[at];
      expert.mutable_data<std::int32_t>()[at] = static_cast<std::int32_t>(own);
      row_index.mutable_data<std::int32_t>()[at] = static_cast<std::int32_t>(column * rows + row);
    }
  }
  Tape& tape = input.tape();
  return List{y, tape.constant(expert), tape.constant(row_index)};
}

OP("npu_moe_gating_top_k_softmax(Tensor x, Tensor? finished=None, int k=1)", [](const Bound& args) -> Value {
  return gating_top_k_softmax(args.var("x"), args.optional_var("finished"), args.integer("k"));
});
OP("npu_moe_gating_top_k_softmax(Tensor x, Tensor? finished_optional=None, int k=1)", [](const Bound& args) -> Value {
  return gating_top_k_softmax(args.var("x"), args.optional_var("finished_optional"), args.integer("k"));
});
NAMES("npu_moe_gating_top_k_softmax", "NPU: npu_moe_gating_top_k_softmax");
TRAITS("npu_moe_gating_top_k_softmax", .ties = {.indices = IndexOutput::of_softmax, .unique = true});

OP("npu_sort_v2(Tensor self, int dim=-1, bool descending=False)", [](const Bound& args) -> Value {
  const Var x = args.var("self");
  return gather(x, args.integer("dim"), sort_index(x.tensor(), args.integer("dim"), args.flag("descending")));
});
NAMES("npu_sort_v2", "NPU: npu_sort_v2");

}  // namespace
}  // namespace msrun
