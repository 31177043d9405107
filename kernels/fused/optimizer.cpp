// Fused optimizer steps (api_inventory.md 4.6, 4.7). They return the new values of what the device updates in place.
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/error.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/rows.h"

namespace msrun {
namespace {

// A number, also where it was recorded as a tensor of one element.
double number(const Bound& args, const char* name) {
  const Var var = args.var(name);
  if (var.numel() != 1) throw SkipError(std::string(name) + " must be one number.");
  return var.tensor().item();
}

struct State {
  Tensor variable;
  Tensor first;   // running mean of gradients
  Tensor second;  // running mean of their squares
  Tensor gradient;
};

State state_of(const Bound& args) {
  const std::vector<Var> out = args.vars("out");
  if (out.size() != 3) throw SkipError("out must hold the variable and its two moments.");
  State state{out[0].tensor(), out[1].tensor(), out[2].tensor(), args.var("grad").tensor()};
  const Dims& shape = state.variable.shape();
  if (!is_floating(state.variable.dtype()) || state.first.shape() != shape || state.second.shape() != shape ||
      state.gradient.shape() != shape) {
    throw SkipError("The variable, its moments and the gradient must be floating-point tensors of one shape.");
  }
  return state;
}

// decay * m + (1 - decay) * g
auto running_mean(double decay) {
  return [decay](auto m, auto g) {
    using T = decltype(m);
    return static_cast<T>(decay) * m + static_cast<T>(1 - decay) * g;
  };
}

auto running_mean_of_squares(double decay) {
  return [decay](auto v, auto g) {
    using T = decltype(v);
    return static_cast<T>(decay) * v + static_cast<T>(1 - decay) * (g * g);
  };
}

List results_of(const Bound& args, const Tensor& variable, const Tensor& first, const Tensor& second) {
  Tape& tape = args.tape();
  return List{tape.constant(variable), tape.constant(first), tape.constant(second)};
}

OP("npu_apply_adam(Operand beta1_power, Operand beta2_power, Operand lr, Operand beta1, Operand beta2, Operand "
   "epsilon, "
   "Tensor grad, bool? use_locking=False, bool? use_nesterov=False, *, Tensor[] out)",
   [](const Bound& args) -> Value {
     const State state = state_of(args);
     const double beta1 = number(args, "beta1");
     const double beta2 = number(args, "beta2");
     const double epsilon = number(args, "epsilon");
     const double rate =
         number(args, "lr") * std::sqrt(1 - number(args, "beta2_power")) / (1 - number(args, "beta1_power"));
     const bool nesterov = args.given("use_nesterov") && args.flag("use_nesterov");
     const auto mean = running_mean(beta1);
     const auto squares = running_mean_of_squares(beta2);
     const Tensor variable =
         map(state.variable.dtype(), state.variable, state.first, state.second, state.gradient,
             [=](auto x, auto m, auto v, auto g) {
               using T = decltype(x);
               const T moment = mean(m, g);
               const T step = nesterov ? mean(moment, g) : moment;
               return x - static_cast<T>(rate) * step / (static_cast<T>(epsilon) + std::sqrt(squares(v, g)));
             });
     return results_of(args, variable, map(state.first.dtype(), state.first, state.gradient, mean),
                       map(state.second.dtype(), state.second, state.gradient, squares));
   });
NAMES("npu_apply_adam", "NPU: npu_apply_adam");

Value apply_adam_w(const Bound& args, const char* epsilon_name) {
  const State state = state_of(args);
  const bool amsgrad = args.given("amsgrad") && args.flag("amsgrad");
  const double sign = args.given("maximize") && args.flag("maximize") ? -1 : 1;
  const double lr = number(args, "lr");
  const double epsilon = number(args, epsilon_name);
  const double keep = 1 - lr * number(args, "weight_decay");
  double power1 = number(args, "beta1_power") * number(args, "beta1");
  double power2 = number(args, "beta2_power") * number(args, "beta2");
  if (power1 == 1) power1 -= epsilon;
  if (power2 == 1 && amsgrad) power2 -= epsilon;
  const auto mean = [sign, update = running_mean(number(args, "beta1"))](auto m, auto g) {
    return update(m, static_cast<decltype(g)>(sign) * g);
  };
  const auto squares = running_mean_of_squares(number(args, "beta2"));
  const DType compute = compute_dtype(state.variable.dtype());
  Tensor scale = map(compute, state.second, state.gradient, squares);
  if (amsgrad) {
    if (!args.given("max_grad_norm")) throw SkipError("npu_apply_adam_w needs max_grad_norm when amsgrad is set.");
    const Tensor largest = args.var("max_grad_norm").tensor();
    if (largest.shape() != state.variable.shape())
      throw SkipError("max_grad_norm does not have the shape of the variable.");
    scale = map(compute, scale, largest, [](auto v, auto limit) { return v < limit ? limit : v; });
  }
  const Tensor variable = map(state.variable.dtype(), state.variable, state.first, scale, state.gradient,
                              [=](auto x, auto m, auto v, auto g) {
                                using T = decltype(x);
                                const T moment = mean(m, g) / static_cast<T>(1 - power1);
                                const T root = std::sqrt(v / static_cast<T>(1 - power2)) + static_cast<T>(epsilon);
                                return x * static_cast<T>(keep) - static_cast<T>(lr) * (moment / root);
                              });
  return results_of(args, variable, map(state.first.dtype(), state.first, state.gradient, mean),
                    map(state.second.dtype(), state.second, state.gradient, squares));
}

OP("npu_apply_adam_w(Operand beta1_power, Operand beta2_power, Operand lr, Operand weight_decay, Operand beta1, "
   "Operand beta2, "
   "Operand epsilon, Tensor grad, Tensor? max_grad_norm=None, bool? amsgrad=False, bool? maximize=False, *, Tensor[] "
   "out)",
   [](const Bound& args) { return apply_adam_w(args, "epsilon"); });
OP("npu_apply_adam_w(Operand beta1_power, Operand beta2_power, Operand lr, Operand weight_decay, Operand beta1, "
   "Operand beta2, "
   "Operand eps, Tensor grad, Tensor? max_grad_norm=None, bool? amsgrad=False, bool? maximize=False, *, Tensor[] out)",
   [](const Bound& args) { return apply_adam_w(args, "eps"); });
NAMES("npu_apply_adam_w", "NPU: npu_apply_adam_w");

}  // namespace
}  // namespace msrun
