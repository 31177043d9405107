// Scaled dot-product attention of the heads of one segment, and its gradient.
//
// Scores exist for a block of the query rows of one head at a time, never for all of them; the backward pass computes
// them again.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/numeric/evaluation_context.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// Which keys j a query row i may attend to: i + offset - before <= j, and j <= i + offset + after or j < prefix.
struct AttentionBand {
  static constexpr std::int64_t unlimited = std::int64_t{1} << 40;
  std::int64_t offset = 0;
  std::int64_t before = unlimited;
  std::int64_t after = unlimited;
  std::int64_t prefix = 0;
};

struct AttentionOptions {
  double scale = 1;
  double bias_scale = 1;     // scores are scale * q k + bias_scale * bias
  bool mask_removes = true;  // a mask byte that is not 0 removes the key (true) or keeps it (false)
};

// Scores, probabilities and their gradients, as they are stored in a half type between the operators that a framework
// composes attention of.
struct StoredScores {
  DType dtype;
  ScoreSteps steps;
  Tensor query;  // what scores are the product of: scaled, if these steps have it so
  Tensor key;
};

// The heads of one segment: views in the compute dtype with unit stride on the last axis.
struct AttentionHeads {
  Tensor query;  // (heads, rows, size)
  Tensor key;    // (key heads, keys, size)
  Tensor value;  // (key heads, keys, value size)
  Tensor bias;   // undefined, or (heads, rows, keys) with any strides
  Tensor mask;   // undefined, or bytes (heads, rows, keys) with any strides
  Tensor sink;   // undefined, or (heads)
  AttentionBand band;
  AttentionOptions options;
  EvaluationContext context;
  // Kernels of accelerators round the probabilities, and the gradients of the scores, to the dtype of the call before
  // they multiply them (FlashAttention-2, arXiv:2307.08691, with half types). Where this is set, they are rounded in
  // float64: to float32, and to multiples of this number if it is not 0.
  std::optional<double> smallest_factor;
  std::optional<StoredScores> stored = std::nullopt;
};

// Views of the results of the same heads, under construction.
struct AttentionResults {
  Tensor output;  // (heads, rows, value size)
  Tensor max;     // (heads, rows)
  Tensor sum;     // (heads, rows)
};

struct AttentionGradients {
  Tensor query;
  Tensor key;  // key and value are added to
  Tensor value;
  Tensor bias;  // undefined, or added to: strides are 0 along broadcast axes
  Tensor sink;  // undefined, or added to
};

// Fills the results. Rows without keys get zeros.
void attend(const AttentionHeads& heads, AttentionResults& results);

// gradient: that of results.output, (heads, rows, value size). The gradient of the query is written, all others are
// added to.
void attend_backward(const AttentionHeads& heads, const AttentionResults& results, const Tensor& gradient,
                     AttentionGradients& gradients);

}  // namespace msrun
