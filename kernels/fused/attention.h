// Attention as one node of the tape: what npu_fusion_attention, scaled_dot_product_attention and the multi-head layer
// share. The layouts of the calls are views, the packed sequences of a batch segments.
//
// In this folder: the fused operators of NPUs and torch's layers that are one kernel there. Their loops over tensors
// are in kernels/numeric.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/api/value.h"
#include "kernels/autograd/tape.h"
#include "kernels/numeric/attention.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// Query rows that attend to keys of the same batch entry or packed sequence, for all heads.
struct AttentionSegment {
  std::int64_t batch = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
  AttentionBand band;
};

// A view of a contiguous tensor as (batch, heads, length, size).
using HeadsView = std::function<Tensor(const Tensor&)>;

struct AttentionInputs {
  Var query;
  Var key;  // the number of query heads is a multiple of that of key heads; neighbouring heads share one
  Var value;
  std::optional<Var> bias;  // broadcasts to (batch, heads, rows, keys)
  std::optional<Var> sink;  // (heads): the score of one more key without a value
  Tensor mask;              // undefined, or bool or uint8 (batch, heads, rows, keys), with any strides
  HeadsView query_view;
  HeadsView key_view;
  HeadsView value_view;
  HeadsView output_view;
  Dims output_shape;
  std::vector<AttentionSegment> segments;  // bias and mask of a segment start at row and key 0 of its batch entry
  AttentionOptions options;
};

struct AttentionOutputs {
  Var output;  // rows without keys are zero
  // In the compute dtype, (batch, heads, rows): the largest score and the sum of exp(score - max); zero for rows
  // without keys.
  Tensor max;
  Tensor sum;
};

// Throws SkipError where the shapes of the views do not fit each other.
AttentionOutputs attention(const AttentionInputs& inputs);

// Multiply-adds of a recorded call whose first arguments are query and key: two products of every query element with
// the keys. 0 where these are no tensors of at least two axes.
double attention_work(const List& args);

}  // namespace msrun
