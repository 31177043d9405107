// Recurrent layers and their single steps: lstm, gru and the plain tanh and relu recurrences (api_inventory.md section
// 3, gate order i, f, g, o and r, z, n).
//
// A layer in one direction is one node of the tape: the products with the input of all steps are made by linear, the
// steps run below the tape (recurrence.h). Sequences of different lengths are rows packed step by step; in those of
// equal lengths every step is as large as the batch.
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/numeric/recurrence.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/selection.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"
#include "kernels/ops/common/requirements.h"

namespace msrun {
namespace {

// The weights of one layer in one direction as torch lists them.
struct Weights {
  Var input;
  Var hidden;
  std::optional<Var> input_bias;
  std::optional<Var> hidden_bias;
  std::optional<Var> projection;
};

// The states of all rows and the last ones, (rows + batch, width). x is (rows, features).
Var recurrence(RecurrentLayer layer, const RecurrentSteps& steps, const Var& x, const Var& state,
               const Weights& weights) {
  if (weights.hidden.rank() != 2) throw SkipError("A recurrent weight must have two dimensions.");
  const std::int64_t gates = weights.hidden.size(0);
  if (gates % gates_of(layer.cell) != 0) {
    throw SkipError("The recurrent weight has " + std::to_string(gates) + " rows, which do not divide into " +
                    std::to_string(gates_of(layer.cell)) + " gates.");
  }
  layer.hidden = gates / gates_of(layer.cell);
  layer.output = weights.projection ? weights.hidden.size(1) : layer.hidden;
  layer.width = layer.cell == RecurrentCell::lstm ? layer.output + layer.hidden : layer.output;
  require_shape(weights.input, {gates, x.size(1)}, "The input weight");
  require_shape(weights.hidden, {gates, layer.output}, "The recurrent weight");
  require_shape(state, {state.size(0), layer.width}, "The initial state");
  if (weights.input_bias) require_shape(*weights.input_bias, {gates}, "The input bias");
  if (weights.hidden_bias) require_shape(*weights.hidden_bias, {gates}, "The recurrent bias");
  if (weights.projection) require_shape(*weights.projection, {layer.output, layer.hidden}, "The projection");

  const Var projected = linear(x, weights.input, weights.input_bias);
  const DType compute = compute_dtype(result_dtype({&projected, &state, &weights.hidden}));
  const auto prepare = [compute](const Tensor& tensor) { return tensor.to(compute).contiguous(); };
  RecurrentOperands operands{
      prepare(projected.tensor()), prepare(state.tensor()), prepare(weights.hidden.tensor()), {}, {}};
  std::vector<Var> inputs{projected, state, weights.hidden};
  if (weights.hidden_bias) {
    operands.bias = prepare(weights.hidden_bias->tensor());
    inputs.push_back(*weights.hidden_bias);
  }
  if (weights.projection) {
    operands.projection = prepare(weights.projection->tensor());
    inputs.push_back(*weights.projection);
  }
  const EvaluationContext& context = x.context();
  const auto saved = std::make_shared<RecurrentTrace>();
  const Tensor result = run_recurrent_layer(layer, steps, operands, context, *saved);
  return x.tape().record(result, inputs,
                         [=, &context = x.context(), weight = operands.weight, projection = operands.projection,
                          has_bias = operands.bias.defined()](const Tensor& gradient) {
                           std::vector<Tensor> all = run_recurrent_layer_backward(layer, steps, weight, projection,
                                                                                  *saved, context, gradient);
                           if (!projection.defined()) all.pop_back();
                           if (!has_bias) all.erase(all.begin() + 3);
                           return all;
                         });
}

// What a network is made of, beside its input and its first state.
struct Network {
  RecurrentCell cell = RecurrentCell::lstm;
  std::vector<Weights> weights;  // layer by layer; forward, then backward
  std::int64_t layers = 1;
  std::int64_t directions = 1;
};

Network network_of(const Bound& args, RecurrentCell cell, bool projections, Raised& raised) {
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
Outputs run_network(const Network& network, const RecurrentSteps& steps, Var x, const Var& state) {
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
      RecurrentLayer layer;
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
Var initial_state(const Bound& args, RecurrentCell cell, Raised& raised, bool& projections) {
  if (cell != RecurrentCell::lstm) return raised(args.var("hx"));
  const std::vector<Var> parts = args.vars("hx");
  if (parts.size() != 2 || parts[0].rank() < 2 || parts[0].rank() != parts[1].rank()) {
    throw SkipError("hx of an lstm must hold the hidden state and the cell state.");
  }
  projections = parts[0].size(-1) != parts[1].size(-1);
  return cat({raised(parts[0]), raised(parts[1])}, -1);
}

// (output, h) or, for lstm, (output, h, c).
Value results(RecurrentCell cell, const Network& network, const Raised& raised, const Var& output, const Var& states) {
  if (cell != RecurrentCell::lstm) return List{raised.back(output), raised.back(states)};
  const std::int64_t width = network.weights[0].hidden.size(1);
  return List{raised.back(output), raised.back(slice(states, 2, 0, width)),
              raised.back(slice(states, 2, width, states.size(2) - width))};
}

template <RecurrentCell cell>
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
  RecurrentSteps steps;
  for (std::int64_t t = 0; t < length; ++t) steps.add(batch);
  const Outputs outputs = run_network(network, steps, reshape(x, {length * batch, x.size(2)}), state);
  const Var output = reshape(outputs.rows, {length, batch, outputs.rows.size(1)});
  return results(cell, network, raised, batch_first ? transpose(output, 0, 1) : output, outputs.states);
}

template <RecurrentCell cell>
Value packed_network(const Bound& args) {
  Raised raised;
  bool projections = false;
  const Var state = initial_state(args, cell, raised, projections);
  const Network network = network_of(args, cell, projections, raised);
  const Var x = raised(args.var("data"));
  if (x.rank() != 2) throw SkipError("The data of packed sequences must have two dimensions.");
  const Tensor sizes = index_values(args.var("batch_sizes").tensor());
  RecurrentSteps steps;
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
template <RecurrentCell cell>
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
  RecurrentSteps steps;
  steps.add(x.size(0));
  const Weights weights{raised(args.var("w_ih")),
                        raised(args.var("w_hh")),
                        raised(args.optional_var("b_ih")),
                        raised(args.optional_var("b_hh")),
                        {}};
  RecurrentLayer layer;
  layer.cell = cell;
  const Var all = slice(recurrence(layer, steps, x, state, weights), 0, 0, x.size(0));
  const auto part = [&](std::int64_t first, std::int64_t size) {
    const Var columns = raised.back(slice(all, 1, first, size));
    return single ? squeeze(columns, 0) : columns;
  };
  const std::int64_t width = weights.hidden.size(1);
  if (cell != RecurrentCell::lstm) return part(0, width);
  return List{part(0, width), part(width, width)};
}

}  // namespace

OP("lstm(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
   "bool bidirectional, bool batch_first)",
   padded_network<RecurrentCell::lstm>);
OP("lstm(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
   "float dropout, bool train, bool bidirectional)",
   packed_network<RecurrentCell::lstm>);
NAMES("lstm", "Torch: lstm; VF: lstm; Aten: lstm");
TRAITS("lstm", .autocast = AutocastPolicy::lower, .varies = Varies::results,
       .operand_setting = OperandSetting::recurrences, .recorded_gradients = RecordedGradients::of_last_step);

OP("gru(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
   "bool bidirectional, bool batch_first)",
   padded_network<RecurrentCell::gru>);
OP("gru(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
   "bool train, bool bidirectional)",
   packed_network<RecurrentCell::gru>);
NAMES("gru", "Torch: gru; VF: gru; Aten: gru");
TRAITS("gru", .autocast = AutocastPolicy::lower, .varies = Varies::results,
       .operand_setting = OperandSetting::recurrences, .recorded_gradients = RecordedGradients::of_last_step);

OP("rnn_tanh(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
   "bool bidirectional, bool batch_first)",
   padded_network<RecurrentCell::tanh>);
OP("rnn_tanh(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
   "float dropout, bool train, bool bidirectional)",
   packed_network<RecurrentCell::tanh>);
NAMES("rnn_tanh", "Torch: rnn_tanh; VF: rnn_tanh; Aten: rnn_tanh");
TRAITS("rnn_tanh", .autocast = AutocastPolicy::lower, .varies = Varies::results,
       .operand_setting = OperandSetting::recurrences);

OP("rnn_relu(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
   "bool bidirectional, bool batch_first)",
   padded_network<RecurrentCell::relu>);
OP("rnn_relu(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
   "float dropout, bool train, bool bidirectional)",
   packed_network<RecurrentCell::relu>);
NAMES("rnn_relu", "Torch: rnn_relu; VF: rnn_relu; Aten: rnn_relu");
TRAITS("rnn_relu", .autocast = AutocastPolicy::lower, .varies = Varies::results,
       .operand_setting = OperandSetting::recurrences);

OP("lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
   single_step<RecurrentCell::lstm>);
NAMES("lstm_cell", "Torch: lstm_cell");
TRAITS("lstm_cell", .autocast = AutocastPolicy::lower);

OP("gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
   single_step<RecurrentCell::gru>);
NAMES("gru_cell", "Torch: gru_cell");
TRAITS("gru_cell", .autocast = AutocastPolicy::lower);

OP("rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
   single_step<RecurrentCell::tanh>);
NAMES("rnn_tanh_cell", "Torch: rnn_tanh_cell");
TRAITS("rnn_tanh_cell", .autocast = AutocastPolicy::lower);

OP("rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
   single_step<RecurrentCell::relu>);
NAMES("rnn_relu_cell", "Torch: rnn_relu_cell");
TRAITS("rnn_relu_cell", .autocast = AutocastPolicy::lower);

}  // namespace msrun
