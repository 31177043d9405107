// torch.nn.functional.multi_head_attention_forward: projections of query, key and value, attention per head, and the
// output projection (api_inventory.md section 3, attention).
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/fused/attention.h"
#include "kernels/fused/visible_keys.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/requirements.h"

namespace msrun {
namespace {

// (length, batch, features) in what follows; one batch entry where the call had no batch axis.
struct Projected {
  Var query;
  Var key;
  Var value;
};

Var rows_of_weight(const Var& packed, std::int64_t part) {
  const std::int64_t third = packed.size(0) / 3;
  return slice(packed, 0, part * third, third);
}

std::optional<Var> rows_of_bias(const std::optional<Var>& packed, std::int64_t part) {
  if (!packed) return std::nullopt;
  return rows_of_weight(*packed, part);
}

// Query, key and value multiplied with their weights: the thirds of in_proj_weight, or weights of their own.
Projected project(const Bound& args, Raised& raised, const Projected& x, std::int64_t features) {
  const std::optional<Var> bias = raised(args.optional_var("in_proj_bias"));
  if (bias && bias->shape() != Dims{3 * features}) {
    throw SkipError("in_proj_bias of shape " + tuple_text(bias->shape()) + " does not fit an embedding of " +
                    std::to_string(features) + ".");
  }
  std::vector<Var> weights;
  if (args.flag("use_separate_proj_weight")) {
    for (const char* name : {"q_proj_weight", "k_proj_weight", "v_proj_weight"}) {
      if (!args.given(name)) throw SkipError(std::string("use_separate_proj_weight is set but ") + name + " is None.");
      weights.push_back(raised(args.var(name)));
    }
  } else {
    if (!args.given("in_proj_weight")) {
      throw SkipError("use_separate_proj_weight is False but in_proj_weight is None.");
    }
    const Var packed = raised(args.var("in_proj_weight"));
    if (packed.rank() != 2 || packed.size(0) != 3 * features) {
      throw SkipError("in_proj_weight of shape " + tuple_text(packed.shape()) + " does not fit an embedding of " +
                      std::to_string(features) + ".");
    }
    for (std::int64_t part = 0; part < 3; ++part) weights.push_back(rows_of_weight(packed, part));
  }
  for (const Var& weight : weights) {
    if (weight.rank() != 2 || weight.size(0) != features) {
      throw SkipError("A projection weight of shape " + tuple_text(weight.shape()) + " does not fit an embedding of " +
                      std::to_string(features) + ".");
    }
  }
  return {linear(x.query, weights[0], rows_of_bias(bias, 0)), linear(x.key, weights[1], rows_of_bias(bias, 1)),
          linear(x.value, weights[2], rows_of_bias(bias, 2))};
}

// (length, batch, heads * size) as (batch * heads, length, size).
Var split_heads(const Var& x, std::int64_t heads) {
  const std::int64_t size = x.size(2) / heads;
  return transpose(reshape(x, {x.size(0), x.size(1) * heads, size}), 0, 1);
}

// A bool mask, true where attention is forbidden, as a summand of the scores, which have this dtype; a float mask is
// one already. Releases before 2.0 take uint8 for bool.
Var as_bias(const Var& mask, DType dtype, Raised& raised) {
  if (mask.dtype() == DType::boolean || mask.dtype() == DType::uint8) {
    return mask.tape().constant(map_as(compute_of(dtype), dtype, mask.tensor(), [](auto forbidden) {
      using T = decltype(forbidden);
      if constexpr (std::is_floating_point_v<T>) {
        return forbidden != 0 ? -std::numeric_limits<T>::infinity() : T{0};
      } else {
        return forbidden;
      }
    }));
  }
  if (!is_floating(mask.dtype())) throw SkipError("Attention masks must be bool or floating-point tensors.");
  return raised(mask);
}

// One more key at the end that every query may attend to.
Var with_open_key(const Var& mask) {
  Dims shape = mask.shape();
  shape.back() = 1;
  return cat({mask, mask.tape().constant(Tensor::zeros(mask.dtype(), shape))}, -1);
}

// The summand of the scores, (batch * heads or 1, rows, keys), from both masks.
struct Masks {
  std::optional<Var> attention;  // (1 or batch * heads, rows, keys)
  std::optional<Var> padding;    // (batch, keys)

  void add_key() {
    if (attention) attention = with_open_key(*attention);
    if (padding) padding = with_open_key(*padding);
  }
  std::optional<Var> sum(std::int64_t batch, std::int64_t heads) const {
    if (!padding) return attention;
    const std::int64_t keys = padding->size(1);
    const Var per_head =
        reshape(expand(reshape(*padding, {batch, 1, 1, keys}), {batch, heads, 1, keys}), {batch * heads, 1, keys});
    return attention ? add(*attention, per_head) : per_head;
  }
};

Masks masks_of(const Bound& args, Raised& raised, DType dtype, bool batched, std::int64_t batch, std::int64_t heads,
               std::int64_t rows, std::int64_t keys) {
  Masks masks;
  if (args.given("attn_mask")) {
    Var mask = as_bias(args.var("attn_mask"), dtype, raised);
    if (mask.rank() == 2) mask = unsqueeze(mask, 0);
    require_shape(mask, {mask.rank() == 3 && mask.size(0) == 1 ? 1 : batch * heads, rows, keys}, "attn_mask");
    masks.attention = mask;
  }
  if (args.given("key_padding_mask")) {
    Var mask = as_bias(args.var("key_padding_mask"), dtype, raised);
    if (!batched && mask.rank() == 1) mask = unsqueeze(mask, 0);
    require_shape(mask, {batch, keys}, "key_padding_mask");
    masks.padding = mask;
  }
  return masks;
}

// Softmax of the scores times the values, without keeping the scores. Heads are (batch * heads, length, size).
Var fused_attention(const Projected& heads, const std::optional<Var>& bias, bool causal) {
  AttentionInputs inputs;
  inputs.query = heads.query;
  inputs.key = heads.key;
  inputs.value = heads.value;
  const HeadsView view = [](const Tensor& x) { return x.unsqueeze(0); };
  inputs.query_view = inputs.key_view = inputs.value_view = inputs.output_view = view;
  inputs.output_shape = {heads.query.size(0), heads.query.size(1), heads.value.size(2)};
  inputs.options.scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(heads.query.size(2), 1)));
  if (bias) inputs.bias = unsqueeze(*bias, 0);
  AttentionSegment segment{0, 0, heads.query.size(1), 0, heads.key.size(1), {}};
  if (causal) segment.band.after = 0;
  inputs.segments.push_back(segment);
  return attention(inputs).output;
}

// The operands with a batch axis, and the sizes that all checks refer to.
struct Sizes {
  bool batched = true;  // whether the call had a batch axis
  std::int64_t rows = 0;
  std::int64_t batch = 0;
  std::int64_t features = 0;
  std::int64_t heads = 0;

  std::int64_t head_size() const { return features / heads; }
};

Projected operands_of(const Bound& args, Raised& raised, Sizes& sizes) {
  Projected x{raised(args.var("query")), raised(args.var("key")), raised(args.var("value"))};
  sizes.batched = x.query.rank() == 3;
  if (!sizes.batched && x.query.rank() != 2) {
    throw SkipError("The query of attention must have two or three dimensions.");
  }
  for (Var* operand : {&x.query, &x.key, &x.value}) {
    if (operand->rank() != (sizes.batched ? 3 : 2)) {
      throw SkipError("Query, key and value must have the same number of dimensions.");
    }
    require_bounded(operand->shape());
    if (!sizes.batched) *operand = unsqueeze(*operand, 1);
  }
  sizes.rows = x.query.size(0);
  sizes.batch = x.query.size(1);
  sizes.features = x.query.size(2);
  sizes.heads = args.integer("num_heads");
  if (sizes.features != args.integer("embed_dim_to_check")) {
    throw SkipError("The query has an embedding of " + std::to_string(sizes.features) + " where " +
                    std::to_string(args.integer("embed_dim_to_check")) + " is expected.");
  }
  if (sizes.heads < 1 || sizes.features % sizes.heads != 0 || sizes.features == 0) {
    throw SkipError("An embedding of " + std::to_string(sizes.features) + " does not divide into " +
                    std::to_string(sizes.heads) + " heads.");
  }
  if (x.key.size(1) != sizes.batch || x.value.size(1) != sizes.batch || x.key.size(0) != x.value.size(0)) {
    throw SkipError("The lengths or batch sizes of query, key and value do not fit each other.");
  }
  return x;
}

// bias_k and bias_v as one more key and value at the end.
void add_bias_key(const Bound& args, Raised& raised, const Sizes& sizes, Projected& x, Masks& masks) {
  const bool has_bias = args.given("bias_k");
  if (has_bias != args.given("bias_v")) throw SkipError("bias_k and bias_v go together.");
  if (!has_bias) return;
  if (args.given("static_k") || args.given("static_v")) {
    throw SkipError("A bias cannot be added to a static key or value.");
  }
  const auto with_bias = [&](const Var& rows_before, const char* name) {
    const Var bias = raised(args.var(name));
    if (bias.numel() != sizes.features) throw SkipError(std::string(name) + " does not fit the embedding.");
    return cat({rows_before, expand(reshape(bias, {1, 1, sizes.features}), {1, sizes.batch, sizes.features})}, 0);
  };
  x.key = with_bias(x.key, "bias_k");
  x.value = with_bias(x.value, "bias_v");
  masks.add_key();
}

// Query, key and value as (batch * heads, length, size), with the static keys instead of the projected ones and
// the key of zeros of add_zero_attn.
Projected heads_of(const Bound& args, Raised& raised, const Sizes& sizes, const Projected& x, Masks& masks) {
  const std::int64_t all_heads = sizes.batch * sizes.heads;
  const std::int64_t size = sizes.head_size();
  const auto keys_of = [&](const Var& projected, const char* fixed) {
    if (!args.given(fixed)) return split_heads(projected, sizes.heads);
    const Var given = raised(args.var(fixed));
    if (given.rank() != 3) throw SkipError(std::string(fixed) + " must have three dimensions.");
    require_shape(given, {all_heads, given.size(1), size}, fixed);
    return given;
  };
  Projected split{split_heads(x.query, sizes.heads), keys_of(x.key, "static_k"), keys_of(x.value, "static_v")};
  if (args.flag("add_zero_attn")) {
    const Var zeros = args.tape().constant(Tensor::zeros(x.query.dtype(), Dims{all_heads, 1, size}));
    split.key = cat({split.key, zeros}, 1);
    split.value = cat({split.value, zeros}, 1);
    masks.add_key();
  }
  if (split.key.size(1) != split.value.size(1)) throw SkipError("There must be as many keys as values.");
  return split;
}

// Attention with the probabilities written down, because the call returns them: (batch, heads, rows, keys), or their
// mean over the heads.
struct Weighted {
  Var result;   // (batch * heads, rows, size)
  Var weights;  // with a batch axis
};

Weighted weighted_attention(const Bound& args, const Sizes& sizes, const Projected& heads,
                            const std::optional<Var>& bias) {
  const double scale = 1 / std::sqrt(static_cast<double>(sizes.head_size()));
  Var scores = matmul(mul(heads.query, scale), transpose(heads.key, 1, 2));
  if (bias) scores = add(scores, *bias);
  const Var probabilities = softmax(scores, -1);
  Weighted weighted;
  weighted.result = matmul(probabilities, heads.value);
  weighted.weights = reshape(probabilities, {sizes.batch, sizes.heads, sizes.rows, heads.key.size(1)});
  if (!args.given("average_attn_weights") || args.flag("average_attn_weights")) {
    weighted.weights = mean(weighted.weights, {1}, false);
  }
  return weighted;
}

Value multi_head_attention(const Bound& args) {
  if (args.flag("training") && args.real("dropout_p") > 0) {
    throw SkipError("Attention with dropout is random: it cannot be compared.");
  }
  Raised raised;
  Sizes sizes;
  Projected x = operands_of(args, raised, sizes);
  const bool need_weights = args.flag("need_weights");
  bool causal = args.flag("is_causal");
  if (causal && !args.given("attn_mask")) throw SkipError("Need attn_mask if specifying the is_causal hint.");
  // Only without a padding mask and weights does the hint replace the mask.
  causal = causal && !args.given("key_padding_mask") && !need_weights;

  x = project(args, raised, x, sizes.features);
  Masks masks = masks_of(
      args, raised, x.query.dtype(), sizes.batched, sizes.batch, sizes.heads, sizes.rows,
      args.given("static_k") && args.var("static_k").rank() == 3 ? args.var("static_k").size(1) : x.key.size(0));
  if (causal) masks.attention.reset();
  add_bias_key(args, raised, sizes, x, masks);
  const Projected heads = heads_of(args, raised, sizes, x, masks);
  const std::optional<Var> bias = masks.sum(sizes.batch, sizes.heads);
  if (bias && bias->size(-1) != heads.key.size(1)) throw SkipError("The masks do not have as many keys as the key.");

  Value weights = None{};
  Var result;
  if (need_weights) {
    const Weighted weighted = weighted_attention(args, sizes, heads, bias);
    result = weighted.result;
    weights = raised.back(sizes.batched ? weighted.weights : squeeze(weighted.weights, 0));
  } else {
    result = fused_attention(heads, bias, causal);
  }
  result = reshape(transpose(result, 0, 1), {sizes.rows, sizes.batch, sizes.features});
  const Var out = linear(result, raised(args.var("out_proj_weight")), raised(args.optional_var("out_proj_bias")));
  return List{raised.back(sizes.batched ? out : squeeze(out, 1)), weights};
}

void fit_masks_of_heads(DrawnCall& call) {
  keep_visible_keys(call, {{14, "key_padding_mask"}, {16, "attn_mask"}}, false);
}

OP("multi_head_attention_forward(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, "
   "Tensor? in_proj_weight, Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, "
   "float dropout_p, Tensor out_proj_weight, Tensor? out_proj_bias, bool training=True, "
   "Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, "
   "bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, "
   "Tensor? v_proj_weight=None, Tensor? static_k=None, Tensor? static_v=None, bool? average_attn_weights=True, "
   "bool is_causal=False)",
   multi_head_attention);
NAMES("multi_head_attention_forward", "Functional: multi_head_attention_forward");
TRAITS("multi_head_attention_forward", .autocast = AutocastPolicy::lower, .varies = Varies::gradients,
       .fit = fit_masks_of_heads, .multiply_adds = attention_work,
       .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace
}  // namespace msrun
