// torch.nn.functional.multi_head_attention_forward: projections of query, key and value, attention per head, and the
// output projection (api_inventory.md section 3, attention).
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/fused/attention.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

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

// A bool mask, true where attention is forbidden, as a summand of the scores; a float mask is one already.
Var as_bias(const Var& mask, DType dtype) {
  if (mask.dtype() == DType::boolean) {
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
  return mask;
}

// One more key at the end that every query may attend to.
Var with_open_key(const Var& mask) {
  Dims shape = mask.shape();
  shape.back() = 1;
  return cat({mask, mask.tape().constant(Tensor::zeros(mask.dtype(), shape))}, -1);
}

void need_shape(const Var& x, const Dims& shape, const char* what) {
  if (x.shape() == shape) return;
  throw SkipError(std::string(what) + " has shape " + tuple_text(x.shape()) + " where " + tuple_text(shape) +
                  " is expected.");
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
    Var mask = raised(as_bias(args.var("attn_mask"), dtype));
    if (mask.rank() == 2) mask = unsqueeze(mask, 0);
    need_shape(mask, {mask.rank() == 3 && mask.size(0) == 1 ? 1 : batch * heads, rows, keys}, "attn_mask");
    masks.attention = mask;
  }
  if (args.given("key_padding_mask")) {
    Var mask = raised(as_bias(args.var("key_padding_mask"), dtype));
    if (!batched && mask.rank() == 1) mask = unsqueeze(mask, 0);
    need_shape(mask, {batch, keys}, "key_padding_mask");
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

Value multi_head_attention(const Bound& args) {
  if (args.flag("training") && args.real("dropout_p") > 0) {
    throw SkipError("Attention with dropout is random: it cannot be compared.");
  }
  Raised raised;
  Projected x{raised(args.var("query")), raised(args.var("key")), raised(args.var("value"))};
  const bool batched = x.query.rank() == 3;
  if (!batched && x.query.rank() != 2) throw SkipError("The query of attention must have two or three dimensions.");
  for (Var* operand : {&x.query, &x.key, &x.value}) {
    if (operand->rank() != (batched ? 3 : 2)) {
      throw SkipError("Query, key and value must have the same number of dimensions.");
    }
    require_bounded(operand->shape());
    if (!batched) *operand = unsqueeze(*operand, 1);
  }
  const std::int64_t rows = x.query.size(0);
  const std::int64_t batch = x.query.size(1);
  const std::int64_t features = x.query.size(2);
  const std::int64_t heads = args.integer("num_heads");
  if (features != args.integer("embed_dim_to_check")) {
    throw SkipError("The query has an embedding of " + std::to_string(features) + " where " +
                    std::to_string(args.integer("embed_dim_to_check")) + " is expected.");
  }
  if (heads < 1 || features % heads != 0 || features == 0) {
    throw SkipError("An embedding of " + std::to_string(features) + " does not divide into " + std::to_string(heads) +
                    " heads.");
  }
  if (x.key.size(1) != batch || x.value.size(1) != batch || x.key.size(0) != x.value.size(0)) {
    throw SkipError("The lengths or batch sizes of query, key and value do not fit each other.");
  }
  const bool need_weights = args.flag("need_weights");
  bool causal = args.flag("is_causal");
  if (causal && !args.given("attn_mask")) throw SkipError("Need attn_mask if specifying the is_causal hint.");
  // Only without a padding mask and weights does the hint replace the mask.
  causal = causal && !args.given("key_padding_mask") && !need_weights;

  x = project(args, raised, x, features);
  Masks masks = masks_of(
      args, raised, x.query.dtype(), batched, batch, heads, rows,
      args.given("static_k") && args.var("static_k").rank() == 3 ? args.var("static_k").size(1) : x.key.size(0));
  if (causal) masks.attention.reset();

  const bool has_bias = args.given("bias_k");
  if (has_bias != args.given("bias_v")) throw SkipError("bias_k and bias_v go together.");
  if (has_bias) {
    if (args.given("static_k") || args.given("static_v")) {
      throw SkipError("A bias cannot be added to a static key or value.");
    }
    const auto with_bias = [&](const Var& rows_before, const char* name) {
      const Var bias = raised(args.var(name));
      if (bias.numel() != features) throw SkipError(std::string(name) + " does not fit the embedding.");
      return cat({rows_before, expand(reshape(bias, {1, 1, features}), {1, batch, features})}, 0);
    };
    x.key = with_bias(x.key, "bias_k");
    x.value = with_bias(x.value, "bias_v");
    masks.add_key();
  }

  const std::int64_t size = features / heads;
  const auto keys_of = [&](const Var& projected, const char* fixed) {
    if (!args.given(fixed)) return split_heads(projected, heads);
    const Var given = raised(args.var(fixed));
    if (given.rank() != 3) throw SkipError(std::string(fixed) + " must have three dimensions.");
    need_shape(given, {batch * heads, given.size(1), size}, fixed);
    return given;
  };
  Projected split{split_heads(x.query, heads), keys_of(x.key, "static_k"), keys_of(x.value, "static_v")};
  if (args.flag("add_zero_attn")) {
    const Var zeros = args.tape().constant(Tensor::zeros(x.query.dtype(), Dims{batch * heads, 1, size}));
    split.key = cat({split.key, zeros}, 1);
    split.value = cat({split.value, zeros}, 1);
    masks.add_key();
  }
  if (split.key.size(1) != split.value.size(1)) throw SkipError("There must be as many keys as values.");
  const std::optional<Var> bias = masks.sum(batch, heads);
  if (bias && bias->size(-1) != split.key.size(1)) throw SkipError("The masks do not have as many keys as the key.");

  Value weights = None{};
  Var result;
  if (need_weights) {
    Var scores = matmul(mul(split.query, 1 / std::sqrt(static_cast<double>(size))), transpose(split.key, 1, 2));
    if (bias) scores = add(scores, *bias);
    const Var probabilities = softmax(scores, -1);
    result = matmul(probabilities, split.value);
    Var shown = reshape(probabilities, {batch, heads, rows, split.key.size(1)});
    if (!args.given("average_attn_weights") || args.flag("average_attn_weights")) shown = mean(shown, {1}, false);
    weights = raised.back(batched ? shown : squeeze(shown, 0));
  } else {
    result = fused_attention(split, bias, causal);
  }
  result = reshape(transpose(result, 0, 1), {rows, batch, features});
  const Var out = linear(result, raised(args.var("out_proj_weight")), raised(args.optional_var("out_proj_bias")));
  return List{raised.back(batched ? out : squeeze(out, 1)), weights};
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
TRAITS("multi_head_attention_forward", .autocast = AutocastPolicy::lower, .multiply_adds = attention_work,
       .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace
}  // namespace msrun
