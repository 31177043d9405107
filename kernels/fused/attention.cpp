#include "kernels/fused/attention.h"

#include <cmath>

#include "kernels/base/error.h"
#include "kernels/numeric/matrix_product.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/tensor/changed_elements.h"

namespace msrun {
namespace {

Tensor cut(const Tensor& tensor, const AttentionSegment& segment, std::int64_t first, std::int64_t count) {
  return tensor.select(0, segment.batch).slice(1, first, count);
}

// (batch, heads, rows, keys) for one segment; undefined stays so.
Tensor cut_scores(const Tensor& tensor, const AttentionSegment& segment) {
  if (!tensor.defined()) return {};
  return tensor.select(0, segment.batch).slice(1, 0, segment.rows).slice(2, 0, segment.keys);
}

// Everything of one call in the compute dtype, as (batch, heads, length, size).
struct Call {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor bias;  // before broadcasting
  Tensor mask;
  Tensor sink;
  Dims score_shape;  // (batch, heads, most rows, most keys)
  EvaluationContext context;
  std::optional<double> smallest_factor;
  std::optional<StoredScores> stored;

  Tensor broadcast(const Tensor& scores) const { return scores.defined() ? scores.expand(score_shape) : scores; }

  std::optional<StoredScores> stored_scores(const AttentionSegment& segment) const {
    if (!stored) return std::nullopt;
    return StoredScores{stored->dtype, stored->steps, cut(stored->query, segment, segment.first_row, segment.rows),
                        cut(stored->key, segment, segment.first_key, segment.keys)};
  }

  AttentionHeads heads(const AttentionSegment& segment, const AttentionOptions& options) const {
    return {cut(query, segment, segment.first_row, segment.rows),
            cut(key, segment, segment.first_key, segment.keys),
            cut(value, segment, segment.first_key, segment.keys),
            cut_scores(broadcast(bias), segment),
            cut_scores(mask, segment),
            sink,
            segment.band,
            options,
            context,
            smallest_factor,
            stored_scores(segment)};
  }
};

// A factor of scores, times a number and stored in a half type.
Tensor scaled_factor(const Tensor& tensor, double factor, DType dtype) {
  const Tensor scaled = changed_elements(tensor, [factor](double value, std::int64_t) { return value * factor; });
  return scaled.to(dtype).to(tensor.dtype()).contiguous();
}

// How a call of half types stores its scores, if it is to.
std::optional<StoredScores> stored_scores(const Call& call, DType dtype, double scale) {
  const std::optional<ScoreSteps> steps = is_half(dtype) ? call.context.stored_score_steps() : std::nullopt;
  if (!steps) return std::nullopt;
  StoredScores scores{dtype, *steps, call.query, call.key};
  if (*steps == ScoreSteps::scaled_query) scores.query = scaled_factor(call.query, scale, dtype);
  if (*steps == ScoreSteps::scaled_factors) {
    scores.query = scaled_factor(call.query, std::sqrt(scale), dtype);
    scores.key = scaled_factor(call.key, std::sqrt(scale), dtype);
  }
  return scores;
}

AttentionResults cut(const AttentionResults& all, const AttentionSegment& segment) {
  return {cut(all.output, segment, segment.first_row, segment.rows),
          cut(all.max, segment, segment.first_row, segment.rows),
          cut(all.sum, segment, segment.first_row, segment.rows)};
}

void check_shapes(const Call& call, const Tensor& output) {
  const bool ranks = call.query.rank() == 4 && call.key.rank() == 4 && call.value.rank() == 4;
  const auto same = [&](std::int64_t axis) { return call.key.size(axis) == call.value.size(axis); };
  if (!ranks || !same(0) || !same(1) || !same(2) || call.key.size(0) != call.query.size(0) ||
      call.key.size(3) != call.query.size(3) || call.key.size(1) == 0 || call.query.size(1) % call.key.size(1) != 0 ||
      output.size(3) != call.value.size(3)) {
    throw SkipError("Attention: query, key and value do not fit each other.");
  }
  if (call.sink.defined() && call.sink.shape() != Dims{call.query.size(1)}) {
    throw SkipError("Attention: sink needs one value per head.");
  }
}

}  // namespace

AttentionOutputs attention(const AttentionInputs& inputs) {
  std::vector<Var> vars{inputs.query, inputs.key, inputs.value};
  const DType dtype = result_dtype({&inputs.query, &inputs.key, &inputs.value});
  if (!is_floating(dtype)) throw SkipError("Attention needs floating-point tensors.");
  Call call;
  call.context = inputs.query.context();
  // One kernel from the scores to the result.
  if (call.context.stores_products()) call.smallest_factor = call.context.smallest_stored();
  const DType compute = call.smallest_factor ? DType::float64 : compute_dtype(dtype);
  const auto operand = [&](const Var& x) {
    return as_operand(x.tensor(), compute, call.context.arithmetic.operands.products).contiguous();
  };
  call.query = inputs.query_view(operand(inputs.query));
  call.key = inputs.key_view(operand(inputs.key));
  call.value = inputs.value_view(operand(inputs.value));
  call.stored = stored_scores(call, dtype, inputs.options.scale);
  call.mask = inputs.mask;
  call.score_shape = {call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2)};
  if (inputs.bias) {
    call.bias = inputs.bias->tensor().to(compute).contiguous();
    vars.push_back(*inputs.bias);
  }
  if (inputs.sink) {
    call.sink = inputs.sink->tensor().to(compute).contiguous();
    vars.push_back(*inputs.sink);
  }
  // Rows of no segment stay zero.
  const Tensor output = Tensor::zeros(compute, inputs.output_shape);
  const Dims rows{call.query.size(0), call.query.size(1), call.query.size(2)};
  const AttentionResults results{inputs.output_view(output), Tensor::zeros(compute, rows),
                                 Tensor::zeros(compute, rows)};
  check_shapes(call, results.output);
  for (const AttentionSegment& segment : inputs.segments) {
    AttentionResults part = cut(results, segment);
    const AttentionHeads heads = call.heads(segment, inputs.options);
    attend(heads, part);
  }
  // Backward takes the output as it was stored.
  AttentionResults kept = results;
  if (call.smallest_factor) kept.output = inputs.output_view(output.to(dtype).to(compute));
  const auto vjp = [call, kept, compute, vars, segments = inputs.segments, options = inputs.options,
                    has_bias = inputs.bias.has_value(), query_view = inputs.query_view, key_view = inputs.key_view,
                    value_view = inputs.value_view, output_view = inputs.output_view](const Tensor& g) {
    const Tensor gradient = output_view(g.to(compute).contiguous());
    std::vector<Tensor> gradients;
    for (const Var& var : vars) gradients.push_back(Tensor::zeros(compute, var.shape()));
    const Tensor query = query_view(gradients[0]);
    const Tensor key = key_view(gradients[1]);
    const Tensor value = value_view(gradients[2]);
    const Tensor bias = has_bias ? call.broadcast(gradients[3]) : Tensor{};
    const Tensor sink = call.sink.defined() ? gradients.back() : Tensor{};
    for (const AttentionSegment& segment : segments) {
      AttentionGradients part{cut(query, segment, segment.first_row, segment.rows),
                              cut(key, segment, segment.first_key, segment.keys),
                              cut(value, segment, segment.first_key, segment.keys), cut_scores(bias, segment), sink};
      const AttentionHeads heads = call.heads(segment, options);
      attend_backward(heads, cut(kept, segment), cut(gradient, segment, segment.first_row, segment.rows), part);
    }
    return gradients;
  };
  return {inputs.query.tape().record(output.to(dtype), vars, vjp), results.max, results.sum};
}

double attention_work(const List& args) {
  const TensorSpec* query = recorded_tensor(args, 0);
  const TensorSpec* key = recorded_tensor(args, 1);
  if (query == nullptr || key == nullptr || query->shape.size() < 2 || key->shape.size() < 2) return 0;
  const std::int64_t keys = key->shape[key->shape.size() - 2];
  return 2 * recorded_elements(*query) * static_cast<double>(std::max<std::int64_t>(keys, 0));
}

}  // namespace msrun
