// Routing of tokens to experts, and the fused sort (api_inventory.md 4.14, 4.15).
#include <algorithm>

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

// Which rows of a tensor follow each other.
Var rows_of(const Var& x, const Tensor& index) {
  return gather(x, 0, index.reshape(Dims{index.numel(), 1}).expand(Dims{index.numel(), x.size(1)}));
}

void require_unpadded(const Bound& args, const char* who) {
  if (args.flag("padded_mode")) throw SkipError(std::string(who) + " is not checked with padded_mode.");
}

// Tokens in the order of the experts that they go to, a token once for each of its experts; and where each of these
// copies went.
OP("npu_moe_token_permute(Tensor tokens, Tensor indices, int? num_out_tokens=None, bool padded_mode=False)",
   [](const Bound& args) -> Value {
     require_unpadded(args, "npu_moe_token_permute");
     const Var tokens = args.var("tokens");
     const Tensor experts = args.var("indices").tensor();
     if (tokens.rank() != 2 || experts.rank() < 1 || experts.rank() > 2 || experts.size(0) != tokens.size(0)) {
       throw SkipError("npu_moe_token_permute needs rows of tokens, and for each of them its experts.");
     }
     const std::int64_t copies = experts.numel();
     const std::int64_t per_token = experts.rank() == 2 ? experts.size(1) : 1;
     const std::int64_t asked = args.optional_integer("num_out_tokens").value_or(0);
     if (asked < 0) throw SkipError("npu_moe_token_permute: num_out_tokens is negative.");
     const std::int64_t kept = asked == 0 ? copies : std::min(asked, copies);
     const Tensor order = sort_index(experts.reshape(Dims{copies}), 0, false).contiguous();
     Tensor sources(DType::int64, {kept});
     Tensor places(DType::int32, {copies});
     for (std::int64_t i = 0; i < copies; ++i) {
       const std::int64_t copy = order.data<std::int64_t>()[i];
       places.mutable_data<std::int32_t>()[copy] = static_cast<std::int32_t>(i);
       if (i < kept) sources.mutable_data<std::int64_t>()[i] = copy / per_token;
     }
     return List{rows_of(tokens, sources), args.tape().constant(places)};
   });
NAMES("npu_moe_token_permute", "NPU: npu_moe_token_permute");
TRAITS("npu_moe_token_permute", .varies = Varies::gradients, .half_sums = HalfSums::gradients,
       .differentiable_output = 0);

// Back in the order of the tokens: the sum of a token's copies, each times its probability.
OP("npu_moe_token_unpermute(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, "
   "bool padded_mode=False, int[]? restore_shape=None)",
   [](const Bound& args) -> Value {
     require_unpadded(args, "npu_moe_token_unpermute");
     const Var permuted = args.var("permuted_tokens");
     const Tensor places = args.var("sorted_indices").tensor().to(DType::int64).contiguous();
     const std::optional<Var> probabilities = args.optional_var("probs");
     if (permuted.rank() != 2 || places.rank() != 1 || (probabilities && probabilities->rank() != 2)) {
       throw SkipError("npu_moe_token_unpermute needs rows of tokens and one place for each copy of a token.");
     }
     const std::int64_t per_token = probabilities ? probabilities->size(1) : 1;
     if (probabilities && probabilities->numel() != places.numel()) {
       throw SkipError("npu_moe_token_unpermute needs one probability for each copy of a token.");
     }
     for (std::int64_t i = 0; i < places.numel(); ++i) {
       const std::int64_t place = places.data<std::int64_t>()[i];
       if (place < 0 || place >= permuted.size(0)) {
         throw SkipError("npu_moe_token_unpermute is not checked with copies of tokens that were dropped.");
       }
     }
     Raised raised;
     Var copies = rows_of(raised(permuted), places);
     if (!probabilities) return raised.back(copies);
     copies = reshape(copies, {places.numel() / per_token, per_token, permuted.size(1)});
     return raised.back(sum(mul(copies, unsqueeze(raised(*probabilities), -1)), {1}, false));
   });
NAMES("npu_moe_token_unpermute", "NPU: npu_moe_token_unpermute");

OP("npu_sort_v2(Tensor self, int dim=-1, bool descending=False)", [](const Bound& args) -> Value {
  const Var x = args.var("self");
  return gather(x, args.integer("dim"), sort_index(x.tensor(), args.integer("dim"), args.flag("descending")));
});
NAMES("npu_sort_v2", "NPU: npu_sort_v2");

}  // namespace
}  // namespace msrun
