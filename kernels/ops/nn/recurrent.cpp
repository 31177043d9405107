// Recurrent layers and their single steps: lstm, gru and the plain tanh and relu recurrences (api_inventory.md section
// 3, gate order i, f, g, o and r, z, n).
//
// A layer in one direction is one node of the tape: the products with the input of all steps are made by linear, the
// steps run below the tape, and the gradient walks them backwards. Sequences of different lengths are rows packed step
// by step; equal lengths are the same with every step as large as the batch.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/gemm.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/selection.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

enum class Cell : std::uint8_t { lstm, gru, tanh, relu };

std::int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

// Rows of the packed input by step: step t holds the entries 0 ... batch[t] - 1, from row first[t] on. Batches do not
// grow with t.
struct Steps {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> batch;
  std::int64_t rows = 0;

  void add(std::int64_t size) {
    first.push_back(rows);
    batch.push_back(size);
    rows += size;
  }
  // The steps in the order of time, or against it.
  std::vector<std::size_t> order(bool reverse) const {
    std::vector<std::size_t> result(batch.size());
    std::iota(result.begin(), result.end(), std::size_t{0});
    if (reverse) std::reverse(result.begin(), result.end());
    return result;
  }
};

// One layer in one direction. The state of an entry is h, for lstm followed by c.
struct Layer {
  Cell cell = Cell::lstm;
  bool reverse = false;
  std::int64_t hidden = 0;  // width of a gate, and of c
  std::int64_t output = 0;  // width of h; differs from hidden with a projection
  std::int64_t width = 0;   // of the state

  std::int64_t gates() const { return gates_of(cell) * hidden; }
};

// Row-major, in one compute dtype.
struct Operands {
  Tensor input;       // (rows, gates): the products with the input, and its bias
  Tensor state;       // (batch, width) before the first step
  Tensor weight;      // (gates, output)
  Tensor bias;        // (gates) or undefined
  Tensor projection;  // (output, hidden) or undefined
};

struct Saved {
  Tensor gates;     // (rows, gates) after their activation
  Tensor previous;  // (rows, width): the state before the step
  Tensor raw;       // (rows, hidden): h before the projection; undefined without one
  Tensor inner;     // (rows, hidden), gru: the product of n with h, before it is reset
  Tensor states;    // (rows, width) after the step
};

template <class T>
T logistic(T x) {
  const T e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

// One entry of one step. gates holds the input's part on entry and the activated gates on return; h_part is the
// product of the previous h. Writes h (before a projection) and, for lstm, c.
template <class T>
void step_entry(const Layer& layer, T* gates, const T* h_part, const T* h_before, const T* c_before, T* inner, T* h,
                T* c) {
  const std::int64_t n = layer.hidden;
  switch (layer.cell) {
    case Cell::lstm:
      for (std::int64_t i = 0; i < n; ++i) {
        const T in = logistic(gates[i] + h_part[i]);
        const T forget = logistic(gates[n + i] + h_part[n + i]);
        const T candidate = std::tanh(gates[2 * n + i] + h_part[2 * n + i]);
        const T out = logistic(gates[3 * n + i] + h_part[3 * n + i]);
        gates[i] = in;
        gates[n + i] = forget;
        gates[2 * n + i] = candidate;
        gates[3 * n + i] = out;
        c[i] = forget * c_before[i] + in * candidate;
        h[i] = out * std::tanh(c[i]);
      }
      break;
    case Cell::gru:
      for (std::int64_t i = 0; i < n; ++i) {
        const T reset = logistic(gates[i] + h_part[i]);
        const T update = logistic(gates[n + i] + h_part[n + i]);
        const T candidate = std::tanh(gates[2 * n + i] + reset * h_part[2 * n + i]);
        gates[i] = reset;
        gates[n + i] = update;
        gates[2 * n + i] = candidate;
        inner[i] = h_part[2 * n + i];
        h[i] = (1 - update) * candidate + update * h_before[i];
      }
      break;
    case Cell::tanh:
      for (std::int64_t i = 0; i < n; ++i) h[i] = gates[i] = std::tanh(gates[i] + h_part[i]);
      break;
    case Cell::relu:
      for (std::int64_t i = 0; i < n; ++i) {
        const T sum = gates[i] + h_part[i];
        h[i] = gates[i] = sum < 0 ? T{0} : sum;
      }
      break;
  }
}

// The states of all rows, and below them the last state of every entry.
template <class T>
Tensor run_layer(const Layer& layer, const Steps& steps, const Operands& operands, const Arithmetic& arithmetic,
                 Saved& saved) {
  const DType dtype = operands.input.dtype();
  const std::int64_t batch = operands.state.size(0);
  Tensor result(dtype, {steps.rows + batch, layer.width});
  Tensor last = operands.state.clone();
  saved.gates = operands.input.clone();
  saved.previous = Tensor(dtype, {steps.rows, layer.width});
  const bool projected = operands.projection.defined();
  Tensor raw(dtype, {projected ? steps.rows : 0, layer.hidden});
  saved.inner = Tensor(dtype, {layer.cell == Cell::gru ? steps.rows : 0, layer.hidden});
  const Tensor weight = operands.weight.transpose(0, 1);
  for (const std::size_t step : steps.order(layer.reverse)) {
    const std::int64_t first = steps.first[step];
    const std::int64_t count = steps.batch[step];
    T* before = saved.previous.mutable_data<T>() + first * layer.width;
    std::copy_n(last.data<T>(), count * layer.width, before);
    const Tensor previous = saved.previous.slice(0, first, count).slice(1, 0, layer.output);
    Tensor h_part = product(previous, weight, dtype, arithmetic).contiguous();
    T* part = h_part.mutable_data<T>();
    if (operands.bias.defined()) {
      const T* bias = operands.bias.data<T>();
      for (std::int64_t entry = 0; entry < count; ++entry) {
        for (std::int64_t i = 0; i < layer.gates(); ++i) part[entry * layer.gates() + i] += bias[i];
      }
    }
    for (std::int64_t entry = 0; entry < count; ++entry) {
      const std::int64_t row = first + entry;
      const T* from = before + entry * layer.width;
      T* state = result.mutable_data<T>() + row * layer.width;
      step_entry(layer, saved.gates.mutable_data<T>() + row * layer.gates(), part + entry * layer.gates(), from,
                 from + layer.output, saved.inner.mutable_data<T>() + row * layer.hidden,
                 projected ? raw.mutable_data<T>() + row * layer.hidden : state, state + layer.output);
    }
    if (projected) {
      const Tensor h =
          product(raw.slice(0, first, count), operands.projection.transpose(0, 1), dtype, arithmetic).contiguous();
      for (std::int64_t entry = 0; entry < count; ++entry) {
        std::copy_n(h.data<T>() + entry * layer.output, layer.output,
                    result.mutable_data<T>() + (first + entry) * layer.width);
      }
    }
    std::copy_n(result.data<T>() + first * layer.width, count * layer.width, last.mutable_data<T>());
  }
  std::copy_n(last.data<T>(), last.numel(), result.mutable_data<T>() + steps.rows * layer.width);
  saved.states = result.slice(0, 0, steps.rows);
  if (projected) saved.raw = raw;
  return result;
}

// The gradients of one entry of one step, before the activations. dh is that of h before a projection; dc goes in and
// comes out as the gradient of the c before. d_input and d_hidden are the gradients of the two parts of the gates,
// dh_before what reaches the previous h directly.
template <class T>
void step_entry_backward(const Layer& layer, const T* gates, const T* before, const T* inner, const T* c, const T* dh,
                         T* dc, T* d_input, T* d_hidden, T* dh_before) {
  const std::int64_t n = layer.hidden;
  switch (layer.cell) {
    case Cell::lstm: {
      const T* c_before = before + layer.output;
      for (std::int64_t i = 0; i < n; ++i) {
        const T in = gates[i];
        const T forget = gates[n + i];
        const T candidate = gates[2 * n + i];
        const T out = gates[3 * n + i];
        const T squashed = std::tanh(c[i]);
        const T d = dc[i] + dh[i] * out * (1 - squashed * squashed);
        d_input[i] = d * candidate * in * (1 - in);
        d_input[n + i] = d * c_before[i] * forget * (1 - forget);
        d_input[2 * n + i] = d * in * (1 - candidate * candidate);
        d_input[3 * n + i] = dh[i] * squashed * out * (1 - out);
        dc[i] = d * forget;
      }
      break;
    }
    case Cell::gru:
      for (std::int64_t i = 0; i < n; ++i) {
        const T reset = gates[i];
        const T update = gates[n + i];
        const T candidate = gates[2 * n + i];
        const T d = dh[i] * (1 - update) * (1 - candidate * candidate);
        d_input[i] = d * inner[i] * reset * (1 - reset);
        d_input[n + i] = dh[i] * (before[i] - candidate) * update * (1 - update);
        d_input[2 * n + i] = d;
        d_hidden[i] = d_input[i];
        d_hidden[n + i] = d_input[n + i];
        d_hidden[2 * n + i] = d * reset;
        dh_before[i] = dh[i] * update;
      }
      return;
    case Cell::tanh:
      for (std::int64_t i = 0; i < n; ++i) d_input[i] = dh[i] * (1 - gates[i] * gates[i]);
      break;
    case Cell::relu:
      for (std::int64_t i = 0; i < n; ++i) d_input[i] = gates[i] > 0 ? dh[i] : T{0};
      break;
  }
  std::copy_n(d_input, layer.gates(), d_hidden);
}

// Gradients in the order of Operands; gradient is that of run_layer's result.
template <class T>
std::vector<Tensor> run_layer_backward(const Layer& layer, const Steps& steps, const Tensor& weight,
                                       const Tensor& projection, const Saved& saved, const Arithmetic& arithmetic,
                                       const Tensor& gradient) {
  const DType dtype = weight.dtype();
  const T* g = gradient.data<T>();
  // The gradient of the state after the step at hand.
  Tensor d_state = gradient.slice(0, steps.rows, gradient.size(0) - steps.rows).clone();
  Tensor d_input(dtype, saved.gates.shape());
  Tensor d_hidden(dtype, saved.gates.shape());
  Tensor d_h(dtype, {projection.defined() ? steps.rows : 0, layer.output});
  for (const std::size_t step : steps.order(!layer.reverse)) {
    const std::int64_t first = steps.first[step];
    const std::int64_t count = steps.batch[step];
    T* state = d_state.mutable_data<T>();
    for (std::int64_t i = 0; i < count * layer.width; ++i) state[i] += g[first * layer.width + i];
    Tensor dh = d_state.slice(0, 0, count).slice(1, 0, layer.output).clone();
    if (projection.defined()) {
      std::copy_n(dh.data<T>(), dh.numel(), d_h.mutable_data<T>() + first * layer.output);
      dh = product(dh, projection, dtype, arithmetic).contiguous();
    }
    Tensor direct = Tensor::zeros(dtype, Dims{count, layer.output});
    for (std::int64_t entry = 0; entry < count; ++entry) {
      const std::int64_t row = first + entry;
      step_entry_backward(
          layer, saved.gates.data<T>() + row * layer.gates(), saved.previous.data<T>() + row * layer.width,
          saved.inner.data<T>() + row * layer.hidden, saved.states.data<T>() + row * layer.width + layer.output,
          dh.data<T>() + entry * layer.hidden, state + entry * layer.width + layer.output,
          d_input.mutable_data<T>() + row * layer.gates(), d_hidden.mutable_data<T>() + row * layer.gates(),
          direct.mutable_data<T>() + entry * layer.output);
    }
    const Tensor through = product(d_hidden.slice(0, first, count), weight, dtype, arithmetic).contiguous();
    for (std::int64_t entry = 0; entry < count; ++entry) {
      for (std::int64_t i = 0; i < layer.output; ++i) {
        const std::int64_t at = entry * layer.output + i;
        state[entry * layer.width + i] = direct.data<T>()[at] + through.data<T>()[at];
      }
    }
  }
  const Tensor previous = saved.previous.slice(1, 0, layer.output);
  return {d_input, d_state, product(d_hidden.transpose(0, 1), previous, dtype, arithmetic),
          sum(d_hidden, Dims{0}, false, arithmetic),
          projection.defined() ? product(d_h.transpose(0, 1), saved.raw, dtype, arithmetic) : Tensor{}};
}

// The weights of one layer in one direction as torch lists them.
struct Weights {
  Var input;
  Var hidden;
  std::optional<Var> input_bias;
  std::optional<Var> hidden_bias;
  std::optional<Var> projection;
};

void need_shape(const Var& x, const Dims& shape, const char* what) {
  if (x.shape() == shape) return;
  throw SkipError(std::string(what) + " has shape " + tuple_text(x.shape()) + " where " + tuple_text(shape) +
                  " is expected.");
}

// The states of all rows and the last ones, (rows + batch, width). x is (rows, features).
Var recurrence(Layer layer, const Steps& steps, const Var& x, const Var& state, const Weights& weights) {
  if (weights.hidden.rank() != 2) throw SkipError("A recurrent weight must have two dimensions.");
  const std::int64_t gates = weights.hidden.size(0);
  if (gates % gates_of(layer.cell) != 0) {
    throw SkipError("The recurrent weight has " + std::to_string(gates) + " rows, which do not divide into " +
                    std::to_string(gates_of(layer.cell)) + " gates.");
  }
  layer.hidden = gates / gates_of(layer.cell);
  layer.output = weights.projection ? weights.hidden.size(1) : layer.hidden;
  layer.width = layer.cell == Cell::lstm ? layer.output + layer.hidden : layer.output;
  need_shape(weights.input, {gates, x.size(1)}, "The input weight");
  need_shape(weights.hidden, {gates, layer.output}, "The recurrent weight");
  need_shape(state, {state.size(0), layer.width}, "The initial state");
  if (weights.input_bias) need_shape(*weights.input_bias, {gates}, "The input bias");
  if (weights.hidden_bias) need_shape(*weights.hidden_bias, {gates}, "The recurrent bias");
  if (weights.projection) need_shape(*weights.projection, {layer.output, layer.hidden}, "The projection");

  const Var projected = linear(x, weights.input, weights.input_bias);
  const DType compute = compute_dtype(result_dtype({&projected, &state, &weights.hidden}));
  const auto prepare = [compute](const Tensor& tensor) { return tensor.to(compute).contiguous(); };
  Operands operands{prepare(projected.tensor()), prepare(state.tensor()), prepare(weights.hidden.tensor()), {}, {}};
  std::vector<Var> inputs{projected, state, weights.hidden};
  if (weights.hidden_bias) {
    operands.bias = prepare(weights.hidden_bias->tensor());
    inputs.push_back(*weights.hidden_bias);
  }
  if (weights.projection) {
    operands.projection = prepare(weights.projection->tensor());
    inputs.push_back(*weights.projection);
  }
  const Arithmetic arithmetic = x.arithmetic();
  const auto saved = std::make_shared<Saved>();
  const Tensor result = visit_compute(
      compute, [&](auto element) { return run_layer<decltype(element)>(layer, steps, operands, arithmetic, *saved); });
  return x.tape().record(result, inputs,
                         [=, weight = operands.weight, projection = operands.projection,
                          has_bias = operands.bias.defined()](const Tensor& gradient) {
                           std::vector<Tensor> all = visit_compute(compute, [&](auto element) {
                             return run_layer_backward<decltype(element)>(layer, steps, weight, projection, *saved,
                                                                          arithmetic,
                                                                          gradient.to(compute).contiguous());
                           });
                           if (!projection.defined()) all.pop_back();
                           if (!has_bias) all.erase(all.begin() + 3);
                           return all;
                         });
}

// What a network is made of, beside its input and its first state.
struct Network {
  Cell cell = Cell::lstm;
  std::vector<Weights> weights;  // layer by layer; forward, then backward
  std::int64_t layers = 1;
  std::int64_t directions = 1;
};

Network network_of(const Bound& args, Cell cell, bool projections, Raised& raised) {
  Network network;
  network.cell = cell;
  network.layers = args.integer("num_layers");
  network.directions = args.flag("bidirectional") ? 2 : 1;
  if (args.flag("train") && args.real("dropout") > 0 && network.layers > 1) {
    throw SkipError("Dropout between recurrent layers is random: it cannot be compared.");
  }
  const bool biases = args.flag("has_biases");
  const std::vector<Var> params = args.vars("params");
  const std::size_t each = (biases ? 4U : 2U) + (projections ? 1U : 0U);
  if (network.layers < 1 || network.layers > static_cast<std::int64_t>(params.size()) || params.size() % each != 0 ||
      params.size() / each != static_cast<std::size_t>(network.layers * network.directions)) {
    throw SkipError("A recurrent network of " + std::to_string(network.layers) + " layers does not have " +
                    std::to_string(params.size()) + " weights.");
  }
  for (std::size_t at = 0; at < params.size(); at += each) {
    Weights weights{raised(params[at]), raised(params[at + 1]), {}, {}, {}};
    if (biases) {
      weights.input_bias = raised(params[at + 2]);
      weights.hidden_bias = raised(params[at + 3]);
    }
    if (projections) weights.projection = raised(params[at + each - 1]);
    network.weights.push_back(weights);
  }
  return network;
}

struct Outputs {
  Var rows;    // (rows, directions * output)
  Var states;  // (layers * directions, batch, width)
};

// x is (rows, features), state (layers * directions, batch, width).
Outputs run_network(const Network& network, const Steps& steps, Var x, const Var& state) {
  if (state.rank() != 3 || state.size(0) != network.layers * network.directions) {
    throw SkipError("An initial state of shape " + tuple_text(state.shape()) + " does not fit " +
                    std::to_string(network.layers * network.directions) + " recurrent layers.");
  }
  if (steps.batch.empty()) throw SkipError("A recurrent network needs at least one step.");
  if (steps.batch.front() != state.size(1)) {
    throw SkipError("The input has a batch of " + std::to_string(steps.batch.front()) + ", the initial state of " +
                    std::to_string(state.size(1)) + ".");
  }
  std::vector<Var> last;
  for (std::int64_t index = 0; index < network.layers; ++index) {
    std::vector<Var> outputs;
    for (std::int64_t direction = 0; direction < network.directions; ++direction) {
      const std::int64_t at = index * network.directions + direction;
      Layer layer;
      layer.cell = network.cell;
      layer.reverse = direction == 1;
      const Weights& weights = network.weights[static_cast<std::size_t>(at)];
      const Var all = recurrence(layer, steps, x, select(state, 0, at), weights);
      const std::int64_t output = weights.hidden.size(1);
      outputs.push_back(slice(slice(all, 0, 0, steps.rows), 1, 0, output));
      last.push_back(slice(all, 0, steps.rows, state.size(1)));
    }
    x = outputs.size() == 1 ? outputs[0] : cat(outputs, 1);
  }
  return {x, stack(last, 0)};
}

// The initial state with h and c side by side.
Var initial_state(const Bound& args, Cell cell, Raised& raised, bool& projections) {
  if (cell != Cell::lstm) return raised(args.var("hx"));
  const std::vector<Var> parts = args.vars("hx");
  if (parts.size() != 2 || parts[0].rank() < 2 || parts[0].rank() != parts[1].rank()) {
    throw SkipError("hx of an lstm must hold the hidden state and the cell state.");
  }
  projections = parts[0].size(-1) != parts[1].size(-1);
  return cat({raised(parts[0]), raised(parts[1])}, -1);
}

// (output, h) or, for lstm, (output, h, c).
Value results(Cell cell, const Network& network, const Raised& raised, const Var& output, const Var& states) {
  if (cell != Cell::lstm) return List{raised.back(output), raised.back(states)};
  const std::int64_t width = network.weights[0].hidden.size(1);
  return List{raised.back(output), raised.back(slice(states, 2, 0, width)),
              raised.back(slice(states, 2, width, states.size(2) - width))};
}

template <Cell cell>
Value padded_network(const Bound& args) {
  Raised raised;
  bool projections = false;
  const Var state = initial_state(args, cell, raised, projections);
  const Network network = network_of(args, cell, projections, raised);
  Var x = raised(args.var("input"));
  if (x.rank() != 3) throw SkipError("The input of a recurrent network must have three dimensions.");
  const bool batch_first = args.flag("batch_first");
  if (batch_first) x = transpose(x, 0, 1);
  const std::int64_t length = x.size(0);
  const std::int64_t batch = x.size(1);
  require_bounded(x.shape());
  Steps steps;
  for (std::int64_t t = 0; t < length; ++t) steps.add(batch);
  const Outputs outputs = run_network(network, steps, reshape(x, {length * batch, x.size(2)}), state);
  const Var output = reshape(outputs.rows, {length, batch, outputs.rows.size(1)});
  return results(cell, network, raised, batch_first ? transpose(output, 0, 1) : output, outputs.states);
}

template <Cell cell>
Value packed_network(const Bound& args) {
  Raised raised;
  bool projections = false;
  const Var state = initial_state(args, cell, raised, projections);
  const Network network = network_of(args, cell, projections, raised);
  const Var x = raised(args.var("data"));
  if (x.rank() != 2) throw SkipError("The data of packed sequences must have two dimensions.");
  const Tensor sizes = index_values(args.var("batch_sizes").tensor());
  Steps steps;
  for (std::int64_t t = 0; t < sizes.numel(); ++t) {
    const std::int64_t size = sizes.data<std::int64_t>()[t];
    if (size < 1 || size > x.size(0) - steps.rows || (t > 0 && size > steps.batch.back())) {
      throw SkipError("batch_sizes of packed sequences must not rise and must add up to the rows of the data.");
    }
    steps.add(size);
  }
  if (steps.rows != x.size(0)) {
    throw SkipError("batch_sizes of packed sequences must not rise and must add up to the rows of the data.");
  }
  const Outputs outputs = run_network(network, steps, x, state);
  return results(cell, network, raised, outputs.rows, outputs.states);
}

// One step of one layer; input is (batch, features) or (features).
template <Cell cell>
Value single_step(const Bound& args) {
  Raised raised;
  bool projections = false;
  Var state = initial_state(args, cell, raised, projections);
  if (projections) throw SkipError("The hidden state and the cell state of an lstm cell must have one shape.");
  Var x = raised(args.var("input"));
  const bool single = x.rank() == 1;
  if (single) {
    x = unsqueeze(x, 0);
    if (state.rank() == 1) state = unsqueeze(state, 0);
  }
  if (x.rank() != 2 || state.rank() != 2 || x.size(0) != state.size(0)) {
    throw SkipError("The input and the state of a recurrent cell must be matrices of as many rows.");
  }
  Steps steps;
  steps.add(x.size(0));
  const Weights weights{raised(args.var("w_ih")),
                        raised(args.var("w_hh")),
                        raised(args.optional_var("b_ih")),
                        raised(args.optional_var("b_hh")),
                        {}};
  Layer layer;
  layer.cell = cell;
  const Var all = slice(recurrence(layer, steps, x, state, weights), 0, 0, x.size(0));
  const auto part = [&](std::int64_t first, std::int64_t size) {
    const Var columns = raised.back(slice(all, 1, first, size));
    return single ? squeeze(columns, 0) : columns;
  };
  const std::int64_t width = weights.hidden.size(1);
  if (cell != Cell::lstm) return part(0, width);
  return List{part(0, width), part(width, width)};
}

}  // namespace

OP("lstm(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
   "bool bidirectional, bool batch_first)",
   padded_network<Cell::lstm>);
OP("lstm(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
   "float dropout, bool train, bool bidirectional)",
   packed_network<Cell::lstm>);
NAMES("lstm", "Torch: lstm; VF: lstm; Aten: lstm");
TRAITS("lstm", .recorded_gradients = RecordedGradients::of_last_step);

OP("gru(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
   "bool bidirectional, bool batch_first)",
   padded_network<Cell::gru>);
OP("gru(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
   "bool train, bool bidirectional)",
   packed_network<Cell::gru>);
NAMES("gru", "Torch: gru; VF: gru; Aten: gru");
TRAITS("gru", .recorded_gradients = RecordedGradients::of_last_step);

OP("rnn_tanh(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
   "bool bidirectional, bool batch_first)",
   padded_network<Cell::tanh>);
OP("rnn_tanh(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
   "float dropout, bool train, bool bidirectional)",
   packed_network<Cell::tanh>);
NAMES("rnn_tanh", "Torch: rnn_tanh; VF: rnn_tanh; Aten: rnn_tanh");

OP("rnn_relu(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
   "bool bidirectional, bool batch_first)",
   padded_network<Cell::relu>);
OP("rnn_relu(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
   "float dropout, bool train, bool bidirectional)",
   packed_network<Cell::relu>);
NAMES("rnn_relu", "Torch: rnn_relu; VF: rnn_relu; Aten: rnn_relu");

OP("lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
   single_step<Cell::lstm>);
NAMES("lstm_cell", "Torch: lstm_cell");
TRAITS("lstm_cell", .autocast = AutocastPolicy::lower);

OP("gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
   single_step<Cell::gru>);
NAMES("gru_cell", "Torch: gru_cell");
TRAITS("gru_cell", .autocast = AutocastPolicy::lower);

OP("rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
   single_step<Cell::tanh>);
NAMES("rnn_tanh_cell", "Torch: rnn_tanh_cell");
TRAITS("rnn_tanh_cell", .autocast = AutocastPolicy::lower);

OP("rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
   single_step<Cell::relu>);
NAMES("rnn_relu_cell", "Torch: rnn_relu_cell");
TRAITS("rnn_relu_cell", .autocast = AutocastPolicy::lower);

}  // namespace msrun
