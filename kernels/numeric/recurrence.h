// One recurrent layer in one direction, run over packed rows, and its gradient, which walks the steps backwards.
// Gates are in the order i, f, g, o and r, z, n.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/numeric/evaluation_context.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

enum class RecurrentCell : std::uint8_t { lstm, gru, tanh, relu };

inline std::int64_t gates_of(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? 4 : cell == RecurrentCell::gru ? 3 : 1;
}

// Rows of the packed input by step: step t has the entries 0 ... batch[t] - 1, from row first[t] on. Batches do not
// grow with t.
struct RecurrentSteps {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> batch;
  std::int64_t rows = 0;

  void add(std::int64_t size) {
    first.push_back(rows);
    batch.push_back(size);
    rows += size;
  }
  // The steps in the order of time, or against it.
  std::vector<std::size_t> order(bool reverse) const;
};

// One layer in one direction. The state of an entry is h, for lstm followed by c.
struct RecurrentLayer {
  RecurrentCell cell = RecurrentCell::lstm;
  bool reverse = false;
  std::int64_t hidden = 0;  // width of a gate, and of c
  std::int64_t output = 0;  // width of h; differs from hidden with a projection
  std::int64_t width = 0;   // of the state

  std::int64_t gates() const { return gates_of(cell) * hidden; }
};

// Row-major, in one compute dtype.
struct RecurrentOperands {
  Tensor input;       // (rows, gates): the products with the input, and its bias
  Tensor state;       // (batch, width) before the first step
  Tensor weight;      // (gates, output)
  Tensor bias;        // (gates) or undefined
  Tensor projection;  // (output, hidden) or undefined
};

// What the gradient needs of the way forward.
struct RecurrentTrace {
  Tensor gates;     // (rows, gates) after their activation
  Tensor previous;  // (rows, width): the state before the step
  Tensor raw;       // (rows, hidden): h before the projection; undefined without one
  Tensor inner;     // (rows, hidden), gru: the product of n with h, before it is reset
  Tensor states;    // (rows, width) after the step
};

// The states of all rows, and below them the last state of every entry: (rows + batch, width).
Tensor run_recurrent_layer(const RecurrentLayer& layer, const RecurrentSteps& steps, const RecurrentOperands& operands,
                           const EvaluationContext& context, RecurrentTrace& trace);

// Gradients in the order of RecurrentOperands, that of the projection undefined without one. gradient is that of
// run_recurrent_layer's result, in any floating dtype.
std::vector<Tensor> run_recurrent_layer_backward(const RecurrentLayer& layer, const RecurrentSteps& steps,
                                                 const Tensor& weight, const Tensor& projection,
                                                 const RecurrentTrace& trace, const EvaluationContext& context,
                                                 const Tensor& gradient);

}  // namespace msrun
