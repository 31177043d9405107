#include "kernels/numeric/recurrence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/logistic.h"
#include "kernels/numeric/matrix_product.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/rows.h"

namespace msrun {
namespace {

// std::exp and not the vectorised exponential: the steps are short. With a seed other than 0 as devices may have it.
template <class T>
T sigmoid(T x, std::uint32_t seed) {
  return seed != 0 ? rough_logistic(x, seed) : logistic_of(x, std::exp(-std::abs(x)));
}

// One entry of one step. gates has the input's part on entry and the activated gates on return, as gradients are
// computed from them: off by a place for a seed that is not 0, because what is left of 1 where they are saturated is
// a place or nothing. h_part is the product of the previous h. Writes h (before a projection) and, for lstm, c.
template <class T>
void step_entry(const RecurrentLayer& layer, T* gates, const T* h_part, const T* h_before, const T* c_before, T* inner,
                T* h, T* c, std::uint32_t seed) {
  const std::int64_t n = layer.hidden;
  switch (layer.cell) {
    case RecurrentCell::lstm:
      for (std::int64_t i = 0; i < n; ++i) {
        const T in = sigmoid(gates[i] + h_part[i], seed);
        const T forget = sigmoid(gates[n + i] + h_part[n + i], seed);
        const T candidate = std::tanh(gates[2 * n + i] + h_part[2 * n + i]);
        const T out = sigmoid(gates[3 * n + i] + h_part[3 * n + i], seed);
        gates[i] = rough_step(in, seed);
        gates[n + i] = rough_step(forget, seed);
        gates[2 * n + i] = rough_step(candidate, seed);
        gates[3 * n + i] = rough_step(out, seed);
        c[i] = forget * c_before[i] + in * candidate;
        h[i] = out * std::tanh(c[i]);
      }
      break;
    case RecurrentCell::gru:
      for (std::int64_t i = 0; i < n; ++i) {
        const T reset = sigmoid(gates[i] + h_part[i], seed);
        const T update = sigmoid(gates[n + i] + h_part[n + i], seed);
        const T candidate = std::tanh(gates[2 * n + i] + reset * h_part[2 * n + i]);
        gates[i] = rough_step(reset, seed);
        gates[n + i] = rough_step(update, seed);
        gates[2 * n + i] = rough_step(candidate, seed);
        inner[i] = h_part[2 * n + i];
        h[i] = (1 - update) * candidate + update * h_before[i];
      }
      break;
    case RecurrentCell::tanh:
      for (std::int64_t i = 0; i < n; ++i) {
        h[i] = std::tanh(gates[i] + h_part[i]);
        gates[i] = rough_step(h[i], seed);
      }
      break;
    case RecurrentCell::relu:
      for (std::int64_t i = 0; i < n; ++i) {
        const T sum = gates[i] + h_part[i];
        h[i] = gates[i] = sum < 0 ? T{0} : sum;
      }
      break;
  }
}

template <class T>
Tensor run_layer(const RecurrentLayer& layer, const RecurrentSteps& steps, const RecurrentOperands& operands,
                 const EvaluationContext& context, RecurrentTrace& saved) {
  const DType dtype = operands.input.dtype();
  const std::int64_t batch = operands.state.size(0);
  Tensor result(dtype, {steps.rows + batch, layer.width});
  Tensor last = operands.state.clone();
  saved.gates = operands.input.clone();
  saved.previous = Tensor(dtype, {steps.rows, layer.width});
  const bool projected = operands.projection.defined();
  Tensor raw(dtype, {projected ? steps.rows : 0, layer.hidden});
  saved.inner = Tensor(dtype, {layer.cell == RecurrentCell::gru ? steps.rows : 0, layer.hidden});
  const Tensor weight = operands.weight.transpose(0, 1);
  for (const std::size_t step : steps.order(layer.reverse)) {
    const std::int64_t first = steps.first[step];
    const std::int64_t count = steps.batch[step];
    T* before = saved.previous.mutable_data<T>() + first * layer.width;
    std::copy_n(last.data<T>(), count * layer.width, before);
    const Tensor previous = saved.previous.slice(0, first, count).slice(1, 0, layer.output);
    Tensor h_part = product(previous, weight, dtype, context).contiguous();
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
                 projected ? raw.mutable_data<T>() + row * layer.hidden : state, state + layer.output,
                 context.jitter_seed);
    }
    if (projected) {
      const Tensor h =
          product(raw.slice(0, first, count), operands.projection.transpose(0, 1), dtype, context).contiguous();
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
void step_entry_backward(const RecurrentLayer& layer, const T* gates, const T* before, const T* inner, const T* c,
                         const T* dh, T* dc, T* d_input, T* d_hidden, T* dh_before, std::uint32_t seed) {
  const std::int64_t n = layer.hidden;
  switch (layer.cell) {
    case RecurrentCell::lstm: {
      const T* c_before = before + layer.output;
      for (std::int64_t i = 0; i < n; ++i) {
        const T in = gates[i];
        const T forget = gates[n + i];
        const T candidate = gates[2 * n + i];
        const T out = gates[3 * n + i];
        const T squashed = rough_step(std::tanh(c[i]), seed);
        const T d = dc[i] + dh[i] * out * (1 - squashed * squashed);
        d_input[i] = d * candidate * in * (1 - in);
        d_input[n + i] = d * c_before[i] * forget * (1 - forget);
        d_input[2 * n + i] = d * in * (1 - candidate * candidate);
        d_input[3 * n + i] = dh[i] * squashed * out * (1 - out);
        dc[i] = d * forget;
      }
      break;
    }
    case RecurrentCell::gru:
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
    case RecurrentCell::tanh:
      for (std::int64_t i = 0; i < n; ++i) d_input[i] = dh[i] * (1 - gates[i] * gates[i]);
      break;
    case RecurrentCell::relu:
      for (std::int64_t i = 0; i < n; ++i) d_input[i] = gates[i] > 0 ? dh[i] : T{0};
      break;
  }
  std::copy_n(d_input, layer.gates(), d_hidden);
}

template <class T>
std::vector<Tensor> run_layer_backward(const RecurrentLayer& layer, const RecurrentSteps& steps, const Tensor& weight,
                                       const Tensor& projection, const RecurrentTrace& saved,
                                       const EvaluationContext& context, const Tensor& gradient) {
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
      dh = product(dh, projection, dtype, context).contiguous();
    }
    Tensor direct = Tensor::zeros(dtype, Dims{count, layer.output});
    for (std::int64_t entry = 0; entry < count; ++entry) {
      const std::int64_t row = first + entry;
      step_entry_backward(
          layer, saved.gates.data<T>() + row * layer.gates(), saved.previous.data<T>() + row * layer.width,
          saved.inner.data<T>() + row * layer.hidden, saved.states.data<T>() + row * layer.width + layer.output,
          dh.data<T>() + entry * layer.hidden, state + entry * layer.width + layer.output,
          d_input.mutable_data<T>() + row * layer.gates(), d_hidden.mutable_data<T>() + row * layer.gates(),
          direct.mutable_data<T>() + entry * layer.output, context.jitter_seed);
    }
    const Tensor through = product(d_hidden.slice(0, first, count), weight, dtype, context).contiguous();
    for (std::int64_t entry = 0; entry < count; ++entry) {
      for (std::int64_t i = 0; i < layer.output; ++i) {
        const std::int64_t at = entry * layer.output + i;
        state[entry * layer.width + i] = direct.data<T>()[at] + through.data<T>()[at];
      }
    }
  }
  const Tensor previous = saved.previous.slice(1, 0, layer.output);
  return {d_input, d_state, product(d_hidden.transpose(0, 1), previous, dtype, context),
          sum(d_hidden, Dims{0}, false, context),
          projection.defined() ? product(d_h.transpose(0, 1), saved.raw, dtype, context) : Tensor{}};
}

}  // namespace

std::vector<std::size_t> RecurrentSteps::order(bool reverse) const {
  std::vector<std::size_t> result(batch.size());
  std::iota(result.begin(), result.end(), std::size_t{0});
  if (reverse) std::reverse(result.begin(), result.end());
  return result;
}

Tensor run_recurrent_layer(const RecurrentLayer& layer, const RecurrentSteps& steps, const RecurrentOperands& operands,
                           const EvaluationContext& context, RecurrentTrace& trace) {
  return visit_compute(operands.input.dtype(), [&](auto element) {
    return run_layer<decltype(element)>(layer, steps, operands, context, trace);
  });
}

std::vector<Tensor> run_recurrent_layer_backward(const RecurrentLayer& layer, const RecurrentSteps& steps,
                                                 const Tensor& weight, const Tensor& projection,
                                                 const RecurrentTrace& trace, const EvaluationContext& context,
                                                 const Tensor& gradient) {
  return visit_compute(weight.dtype(), [&](auto element) {
    return run_layer_backward<decltype(element)>(layer, steps, weight, projection, trace, context,
                                                 gradient.to(weight.dtype()).contiguous());
  });
}

}  // namespace msrun
