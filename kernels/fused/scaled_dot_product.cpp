// torch.nn.functional.scaled_dot_product_attention.
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/fused/attention.h"
#include "kernels/fused/visible_keys.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

// (batch axes..., heads, length, size) as (batch, heads, length, size).
Tensor four_axes(const Tensor& x) {
  if (x.rank() == 4) return x;
  Dims shape = x.shape();
  while (shape.size() < 4) shape.insert(shape.begin(), 1);
  const std::size_t leading = shape.size() - 3;
  Dims merged{element_count(Dims(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(leading)))};
  for (std::size_t axis = leading; axis < shape.size(); ++axis) merged.push_back(shape[axis]);
  return x.reshape(merged);
}

Dims leading_axes(const Var& x, std::ptrdiff_t kept) { return {x.shape().begin(), x.shape().end() - kept}; }

// The tensor with its leading axes broadcast to `batch`; the last `kept` axes stay.
Var with_batch(const Var& x, const Dims& batch, std::ptrdiff_t kept) {
  Dims shape = batch;
  for (auto axis = x.shape().end() - kept; axis != x.shape().end(); ++axis) shape.push_back(*axis);
  return shape == x.shape() ? x : expand(x, shape);
}

Var scaled_dot_product(const Bound& args) {
  Var query = args.var("query");
  Var key = args.var("key");
  Var value = args.var("value");
  if (args.real("dropout_p") > 0) throw SkipError("Attention with dropout is random: it cannot be compared.");
  if (query.rank() < 2 || key.rank() < 2 || value.rank() < 2) {
    throw SkipError("scaled_dot_product_attention needs tensors of at least 2 dimensions.");
  }
  // With grouped heads the heads differ, so that only the axes before them broadcast.
  const bool grouped =
      args.flag("enable_gqa") && query.rank() > 2 && key.rank() == query.rank() && value.rank() == query.rank();
  const std::ptrdiff_t kept = grouped ? 3 : 2;
  const Dims batch =
      broadcast_shapes(leading_axes(query, kept), broadcast_shapes(leading_axes(key, kept), leading_axes(value, kept)));
  query = with_batch(query, batch, kept);
  key = with_batch(key, batch, kept);
  value = with_batch(value, batch, kept);
  AttentionInputs inputs;
  inputs.query = query;
  inputs.key = key;
  inputs.value = value;
  inputs.query_view = inputs.key_view = inputs.value_view = inputs.output_view = four_axes;
  inputs.output_shape = query.shape();
  inputs.output_shape.back() = value.size(-1);
  const std::int64_t rows = query.size(-2);
  const std::int64_t keys = key.size(-2);
  inputs.options.scale = args.optional_real("scale").value_or(
      1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(query.size(-1), 1))));
  inputs.options.mask_removes = false;
  if (const std::optional<Var> mask = args.optional_var("attn_mask")) {
    if (args.flag("is_causal"))
      throw SkipError("scaled_dot_product_attention: attn_mask and is_causal exclude each other.");
    Dims shape = query.shape();
    shape.back() = keys;
    if (broadcast_shapes(mask->shape(), shape) != shape) {
      throw SkipError("scaled_dot_product_attention: a mask of shape " + tuple_text(mask->shape()) +
                      " does not fit scores of shape " + tuple_text(shape) + ".");
    }
    if (mask->dtype() == DType::boolean) {
      inputs.mask = four_axes(mask->tensor().expand(shape));
    } else if (shape.size() <= 4) {
      inputs.bias = mask;
    } else {
      Dims merged = four_axes(query.tensor()).shape();
      merged.back() = keys;
      inputs.bias = reshape(expand(*mask, shape), merged);
    }
  }
  const std::int64_t batches = four_axes(query.tensor()).size(0);
  for (std::int64_t b = 0; b < batches; ++b) {
    AttentionSegment segment{b, 0, rows, 0, keys, {}};
    if (args.flag("is_causal")) segment.band.after = 0;
    inputs.segments.push_back(segment);
  }
  return attention(inputs).output;
}

void fit_mask_of_product(DrawnCall& call) { keep_visible_keys(call, {{3, "attn_mask"}}, true); }

OP("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
   "bool is_causal=False, *, float? scale=None, bool enable_gqa=False)",
   [](const Bound& args) -> Value { return scaled_dot_product(args); });
NAMES("scaled_dot_product_attention", "Functional: scaled_dot_product_attention");
TRAITS("scaled_dot_product_attention", .autocast = AutocastPolicy::lower, .varies = Varies::gradients,
       .fit = fit_mask_of_product, .multiply_adds = attention_work,
       .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace
}  // namespace msrun
