// Fused optimizer steps (api_inventory.md 4.6, 4.7). They return the new values of what the device updates in place.
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"

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

// One step of AdamW for one variable (api_inventory.md section 3, optimizer).
struct AdamOptions {
  double lr = 0;
  double beta1 = 0;
  double beta2 = 0;
  double weight_decay = 0;
  double epsilon = 0;
  bool amsgrad = false;
  bool maximize = false;
  double grad_scale = 1;
};

struct AdamState {
  Tensor variable;
  Tensor gradient;
  Tensor first;
  Tensor second;
  Tensor largest;  // with amsgrad: the largest second moment so far
  double step = 1;
};

// The variable and its moments after the step, in their dtypes.
AdamState adam_w_step(const AdamState& state, const AdamOptions& options) {
  const DType compute = compute_dtype(state.variable.dtype());
  const double sign = (options.maximize ? -1 : 1) / options.grad_scale;
  const Tensor gradient = map(compute, state.gradient, [sign](auto g) { return static_cast<decltype(g)>(sign) * g; });
  const Tensor first = map(compute, state.first, gradient, running_mean(options.beta1));
  const Tensor second = map(compute, state.second, gradient, running_mean_of_squares(options.beta2));
  AdamState result = state;
  Tensor scale = second;
  if (options.amsgrad) {
    scale = map(compute, state.largest, second, [](auto a, auto b) { return a < b ? b : a; });
    result.largest = scale.to(state.largest.dtype());
  }
  const double keep = 1 - options.lr * options.weight_decay;
  const double rate = options.lr / (1 - std::pow(options.beta1, state.step));
  const double root = std::sqrt(1 - std::pow(options.beta2, state.step));
  result.variable = map(state.variable.dtype(), state.variable, first, scale, [=](auto x, auto m, auto v) {
    using T = decltype(x);
    return x * static_cast<T>(keep) -
           static_cast<T>(rate) * m / (std::sqrt(v) / static_cast<T>(root) + static_cast<T>(options.epsilon));
  });
  result.first = first.to(state.first.dtype());
  result.second = second.to(state.second.dtype());
  return result;
}

// The new variables, first and second moments and, with amsgrad, largest second moments, as lists.
Value adam_w_lists(const Bound& args) {
  AdamOptions options{number(args, "lr"),  number(args, "beta1"), number(args, "beta2"), number(args, "weight_decay"),
                      number(args, "eps"), args.flag("amsgrad"),  args.flag("maximize")};
  if (args.given("grad_scale")) options.grad_scale = number(args, "grad_scale");
  const bool skipped = args.given("found_inf") && number(args, "found_inf") != 0;
  const std::vector<Var> variables = args.vars("self");
  const std::vector<Var> gradients = args.vars("grads");
  const std::vector<Var> firsts = args.vars("exp_avgs");
  const std::vector<Var> seconds = args.vars("exp_avg_sqs");
  const std::vector<Var> largest = args.vars("max_exp_avg_sqs");
  const std::vector<Var> steps = args.vars("state_steps");
  const std::size_t count = variables.size();
  if (gradients.size() != count || firsts.size() != count || seconds.size() != count || steps.size() != count ||
      (options.amsgrad && largest.size() != count)) {
    throw SkipError("The lists of tensors of a fused optimizer must have the same length.");
  }
  std::vector<List> results(options.amsgrad ? 4 : 3);
  for (std::size_t i = 0; i < count; ++i) {
    AdamState state{variables[i].tensor(), gradients[i].tensor(), firsts[i].tensor(), seconds[i].tensor(), {}, 1};
    if (options.amsgrad) state.largest = largest[i].tensor();
    for (const Tensor* tensor : {&state.gradient, &state.first, &state.second, &state.largest}) {
      if (tensor->defined() && tensor->shape() != state.variable.shape()) {
        throw SkipError("The variable, its moments and the gradient must be tensors of one shape.");
      }
    }
    if (!is_floating(state.variable.dtype()) || steps[i].numel() != 1) {
      throw SkipError("A fused optimizer needs floating-point variables and one step number for each.");
    }
    state.step = steps[i].tensor().item();
    const AdamState after = skipped ? state : adam_w_step(state, options);
    results[0].emplace_back(args.tape().constant(after.variable));
    results[1].emplace_back(args.tape().constant(after.first));
    results[2].emplace_back(args.tape().constant(after.second));
    if (options.amsgrad) results[3].emplace_back(args.tape().constant(after.largest));
  }
  return List(results.begin(), results.end());
}

OP("_fused_adamw_(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, "
   "Tensor[] state_steps, *, Operand lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
   "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None)",
   adam_w_lists);
NAMES("_fused_adamw_", "Torch: _fused_adamw_");

}  // namespace
}  // namespace msrun
