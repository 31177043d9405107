#include "kernels/evaluate/precision.h"

#include <algorithm>
#include <array>

namespace msrun {
namespace {

bool keeps_float32(std::string_view api) { return api == "conv1d" || api == "conv2d"; }

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// torch.amp, "Autocast Op Reference".
constexpr std::array<std::string_view, 27> lowered{"matmul",
                                                   "mm",
                                                   "bmm",
                                                   "mv",
                                                   "linear",
                                                   "addmm",
                                                   "addmv",
                                                   "addr",
                                                   "addbmm",
                                                   "baddbmm",
                                                   "conv1d",
                                                   "conv2d",
                                                   "conv3d",
                                                   "conv_transpose1d",
                                                   "conv_transpose2d",
                                                   "conv_transpose3d",
                                                   "conv_tbc",
                                                   "prelu",
                                                   "chain_matmul",
                                                   "linalg_multi_dot",
                                                   "einsum",
                                                   "scaled_dot_product_attention",
                                                   "multi_head_attention_forward",
                                                   "lstm_cell",
                                                   "gru_cell",
                                                   "rnn_tanh_cell",
                                                   "rnn_relu_cell"};

constexpr std::array<std::string_view, 53> in_float32{"acos",
                                                      "asin",
                                                      "cosh",
                                                      "cosine_embedding_loss",
                                                      "cdist",
                                                      "cosine_similarity",
                                                      "cross_entropy",
                                                      "cumprod",
                                                      "cumsum",
                                                      "dist",
                                                      "erfinv",
                                                      "exp",
                                                      "expm1",
                                                      "group_norm",
                                                      "hinge_embedding_loss",
                                                      "kl_div",
                                                      "l1_loss",
                                                      "layer_norm",
                                                      "log",
                                                      "log10",
                                                      "log_softmax",
                                                      "log1p",
                                                      "log2",
                                                      "margin_ranking_loss",
                                                      "mse_loss",
                                                      "multilabel_margin_loss",
                                                      "multi_margin_loss",
                                                      "nll_loss",
                                                      "norm",
                                                      "normalize",
                                                      "pdist",
                                                      "poisson_nll_loss",
                                                      "pow",
                                                      "prod",
                                                      "reciprocal",
                                                      "rsqrt",
                                                      "sinh",
                                                      "smooth_l1_loss",
                                                      "soft_margin_loss",
                                                      "softmax",
                                                      "softmin",
                                                      "softplus",
                                                      "sum",
                                                      "renorm",
                                                      "tan",
                                                      "triplet_margin_loss",
                                                      "huber_loss",
                                                      "linalg_vector_norm",
                                                      "linalg_norm",
                                                      "logsumexp",
                                                      "instance_norm",
                                                      "gaussian_nll_loss",
                                                      "binary_cross_entropy_with_logits"};

}  // namespace

RaisePlan plan_raise(const MaterialisedCall& call) {
  bool half = false;
  bool bfloat = false;
  bool single = false;
  const auto look = [&](const Value& leaf) {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor == nullptr) return;
    half = half || tensor->dtype() == DType::float16;
    bfloat = bfloat || tensor->dtype() == DType::bfloat16;
    single = single || tensor->dtype() == DType::float32;
  };
  for (const Value& arg : call.args) for_each_leaf(arg, look);
  for (const auto& [key, value] : call.kwargs) for_each_leaf(value, look);

  RaisePlan plan;
  const int kinds = (half ? 1 : 0) + (bfloat ? 1 : 0) + (single ? 1 : 0);
  if (kinds == 0) return plan;
  plan.mixed = kinds > 1;
  plan.base = half ? DType::float16 : bfloat ? DType::bfloat16 : DType::float32;
  plan.raised = kinds == 1 && single ? DType::float64 : DType::float32;
  return plan;
}

Tensor raise(const Tensor& tensor, const RaisePlan& plan, std::string_view api) {
  const DType dtype = tensor.dtype();
  if (is_float8(dtype)) return tensor.to(DType::float32);
  if (!plan.raised || api == "type_as") return tensor;
  const bool raisable = is_half(dtype) || dtype == DType::float32;
  if (!raisable || (dtype == DType::float32 && keeps_float32(api))) return tensor;
  return tensor.to(*plan.raised);
}

Tensor raise_gradient(const Tensor& gradient, std::string_view api) {
  if (is_half(gradient.dtype()) || is_float8(gradient.dtype())) return gradient.to(DType::float32);
  if (gradient.dtype() == DType::float32 && !keeps_float32(api)) return gradient.to(DType::float64);
  return gradient;
}

std::optional<DType> autocast_dtype(const RaisePlan& plan, std::string_view output_dtype) {
  std::optional<DType> dtype;
  if (plan.mixed) {
    dtype = plan.base;
  } else {
    const std::optional<DType> output = parse_dtype(output_dtype);
    if (output && (is_half(*output) || *output == DType::float32 || *output == DType::float64) && plan.base != output) {
      dtype = output;
    }
  }
  // Autocast to float32 or float64 does nothing.
  return dtype && is_half(*dtype) ? dtype : std::nullopt;
}

AutocastPolicy autocast_policy(std::string_view canonical_operator) {
  if (contains(lowered, canonical_operator)) return AutocastPolicy::lower;
  if (contains(in_float32, canonical_operator)) return AutocastPolicy::float32;
  return AutocastPolicy::keep;
}

}  // namespace msrun
