// Activation functions (api_inventory.md section 3, activation).
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/base/error.h"
#include "kernels/numeric/complex_numbers.h"
#include "kernels/numeric/error_function.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/logarithm.h"
#include "kernels/numeric/logistic.h"
#include "kernels/numeric/roughness.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/common/operator_forms.h"
#include "kernels/ops/elementwise/function_forms.h"

namespace msrun {
namespace {

Var relu(const Var& x) {
  return unary_any(
      x, [](auto a) { return a > 0 || is_nan(a) ? a : decltype(a){0}; },
      [](auto a, auto, auto g) { return a <= 0 ? decltype(g){0} : g; });
}

// clamp with the gradient of the open interval.
// Where low > high, every element becomes high.
Var hardtanh(const Var& x, double lowest, double highest) {
  const double low = as_parameter(x, lowest);
  const double high = as_parameter(x, highest);
  return unary_any(
      x,
      [low, high](auto a) {
        using T = decltype(a);
        const T raised = a < number_as<T>(low) ? number_as<T>(low) : a;
        return raised > number_as<T>(high) ? number_as<T>(high) : raised;
      },
      open_at_nan(x.context(), [low, high](auto a, auto, auto g) {
        using T = decltype(a);
        return a > static_cast<T>(low) && a < static_cast<T>(high) ? g : T{0};
      }));
}

Var leaky_relu(const Var& x, double slope) {
  return unary(
      x, [slope](auto a) { return a > 0 ? a : static_cast<decltype(a)>(slope) * a; },
      [slope](auto a, auto, auto g) { return a > 0 ? g : static_cast<decltype(g)>(slope) * g; });
}

// e^x - 1. Frameworks subtract, so that in float32 what is below its last place is lost; higher precision keeps it,
// unless it is to err as theirs does.
template <class T>
T grown_exponential(T x, std::uint32_t seed) {
  if (seed != 0) return a_place_beside(exponential(x), seed) - 1;
  if constexpr (std::is_same_v<T, float>) {
    return exponential(x) - 1;
  } else {
    return exponential_minus_one(x);
  }
}

// x > 0 ? scale * x : scale * alpha * (e^(input_scale * x) - 1)
Var elu(const Var& x, double alpha, double scale, double input_scale, double scale_of_gradient) {
  return unary(
      x,
      [=, seed = x.context().jitter_seed](auto a) {
        using T = decltype(a);
        return a > 0 ? static_cast<T>(scale) * a
                     : static_cast<T>(alpha * scale) * grown_exponential(static_cast<T>(input_scale) * a, seed);
      },
      open_at_nan(
          x.context(),
          [=](auto a, auto, auto g) {
            using T = decltype(a);
            const T slope =
                static_cast<T>(alpha * scale * scale_of_gradient) * exponential(static_cast<T>(scale_of_gradient) * a);
            return g * (a > 0 ? static_cast<T>(scale) : slope);
          },
          scale));
}

Var celu(const Var& x, double alpha) {
  if (alpha == 0) throw SkipError("celu: alpha cannot be 0.");
  // torch keeps alpha in float32 for the gradient, whatever the tensor is.
  return elu(x, alpha, 1, 1 / alpha, 1 / static_cast<double>(static_cast<float>(alpha)));
}

Var selu(const Var& x) { return elu(x, 1.6732632423543772, 1.0507009873554805, 1, 1); }

// The weight has one element, or one for each channel (axis 1, or axis 0 of a vector).
Var prelu(const Var& x, const Var& weight) {
  if (!is_floating(x.dtype())) throw SkipError("prelu needs a floating tensor.");
  Var slope = weight;
  if (weight.numel() == 1) {
    slope = reshape(weight, Dims(x.rank() == 0 ? std::size_t{0} : std::size_t{1}, 1));
  } else {
    if (x.rank() == 0) throw SkipError("prelu: a 0-d tensor needs a weight of one element.");
    const std::int64_t axis = x.rank() > 1 ? 1 : 0;
    if (weight.numel() != x.size(axis)) {
      throw SkipError("prelu: the weight has " + std::to_string(weight.numel()) + " elements, the input has " +
                      std::to_string(x.size(axis)) + " channels.");
    }
    Dims shape(x.shape().size(), 1);
    shape[static_cast<std::size_t>(axis)] = weight.numel();
    slope = reshape(weight, shape);
  }
  return float_binary(
      x, slope, [](auto a, auto w) { return a > 0 ? a : w * a; },
      [](auto a, auto w, auto, auto g) { return a > 0 ? g : w * g; },
      [](auto a, auto, auto, auto g) { return a > 0 ? decltype(g){0} : a * g; });
}

Var rrelu(const Var& x, double lower, double upper, bool training) {
  if (training && lower != upper) {
    throw SkipError("rrelu draws random numbers: there is no expected result to compare with.");
  }
  return leaky_relu(x, (lower + upper) / 2);
}

Var gelu(const Var& x) {
  return taking(x.context(), [&](auto take) {
    return unary(
        x,
        [take](auto a) {
          using T = decltype(a);
          return a * T{0.5} * (1 + take(error_function(a * static_cast<T>(1 / std::numbers::sqrt2))));
        },
        [take](auto a, auto, auto g) {
          using T = decltype(a);
          const T below = T{0.5} * (1 + take(error_function(a * static_cast<T>(1 / std::numbers::sqrt2))));
          const T density =
              exponential(T{-0.5} * a * a) * static_cast<T>(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
          return g * (below + a * density);
        });
  });
}

constexpr double sqrt_2_over_pi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

Var gelu_tanh(const Var& x) {
  return taking(x.context(), [&](auto take) {
    return unary(
        x,
        [take](auto a) {
          using T = decltype(a);
          const T inner = static_cast<T>(sqrt_2_over_pi) * (a + static_cast<T>(0.044715) * a * a * a);
          return T{0.5} * a * (1 + take(hyperbolic_tangent(inner)));
        },
        [take](auto a, auto, auto g) {
          using T = decltype(a);
          const T inner = static_cast<T>(sqrt_2_over_pi) * (a + static_cast<T>(0.044715) * a * a * a);
          const T bend = take(hyperbolic_tangent(inner));
          const T slope = static_cast<T>(sqrt_2_over_pi) * (1 + static_cast<T>(3 * 0.044715) * a * a);
          return g * (T{0.5} * (1 + bend) + T{0.5} * a * (1 - bend * bend) * slope);
        });
  });
}

Var gelu_as(const Var& x, const std::string& approximate) {
  if (approximate == "none") return gelu(x);
  if (approximate == "tanh") return gelu_tanh(x);
  throw SkipError("gelu: approximate argument must be either none or tanh.");
}

Var mish(const Var& x) {
  return taking(x.context(), [&](auto take) {
    const auto bend_of = [take](auto a) {
      const auto of_exponential = logarithm_of_one_plus(take(exponential(-std::abs(a))));
      return take(hyperbolic_tangent((a > 0 ? a : decltype(a){0}) + of_exponential));
    };
    return unary(
        x, [bend_of](auto a) { return a * bend_of(a); },
        [take, bend_of](auto a, auto, auto g) {
          const auto bend = bend_of(a);
          return g * (bend + a * (1 - bend * bend) * take.sigmoid(a));
        });
  });
}

Var softsign(const Var& x) {
  return unary(
      x, [](auto a) { return a / (1 + std::abs(a)); },
      [seed = x.context().jitter_seed](auto a, auto, auto g) {
        using T = decltype(a);
        // The quotient rule, as torch applies it, divides infinity by infinity.
        if (std::isinf(a)) return std::numeric_limits<T>::quiet_NaN();
        const T width = 1 + std::abs(a);
        // The terms of the quotient rule cancel where the function is flat: in float32 as frameworks compute it.
        if constexpr (std::is_same_v<T, float>) return g / width - g * std::abs(a) / (width * width);
        if (seed != 0) return rough_step(g / width, seed) - g * rough_step(std::abs(a) / width, seed) / width;
        return g / (width * width);
      });
}

Var hardswish(const Var& x) {
  return unary(
      x,
      [](auto a) {
        using T = decltype(a);
        const T raised = a < T{-3} ? T{0} : a + 3;
        return a * (raised > 6 ? T{6} : raised) / 6;
      },
      open_at_nan(x.context(), [](auto a, auto, auto g) {
        using T = decltype(a);
        return a < T{-3} ? T{0} : a > 3 ? g : g * (a / 3 + T{0.5});
      }));
}

Var hardsigmoid(const Var& x) {
  const double narrow = as_constant(x, 1.0 / 6);
  return unary(
      x,
      [](auto a) {
        using T = decltype(a);
        const T line = a / 6 + T{0.5};
        return line < 0 ? T{0} : line > 1 ? T{1} : line;
      },
      [narrow, exact = narrow == 1.0 / 6](auto a, auto, auto g) {
        using T = decltype(g);
        const T inside = exact ? g / 6 : g * static_cast<T>(narrow);
        return a > -3 && a < 3 ? inside : T{0};
      });
}

Var hardshrink(const Var& x, double width) {
  const double lambda = as_parameter(x, width);
  return unary(
      x, [lambda](auto a) { return std::abs(a) <= static_cast<decltype(a)>(lambda) ? decltype(a){0} : a; },
      open_at_nan(x.context(), [lambda](auto a, auto, auto g) {
        return std::abs(a) > static_cast<decltype(a)>(lambda) ? g : decltype(g){0};
      }));
}

// NaN gives 0.
Var softshrink(const Var& x, double shift) {
  const double lambda = as_parameter(x, shift);
  if (lambda < 0) throw SkipError("softshrink: lambda must be greater or equal to 0.");
  return unary(
      x,
      [lambda](auto a) {
        using T = decltype(a);
        const T width = static_cast<T>(lambda);
        return a > width ? a - width : a < -width ? a + width : T{0};
      },
      open_at_nan(x.context(), [lambda](auto a, auto, auto g) {
        return std::abs(a) > static_cast<decltype(a)>(lambda) ? g : decltype(g){0};
      }));
}

Var tanhshrink(const Var& x) {
  return taking(x.context(), [&](auto take) {
    return unary(
        x, [take](auto a) { return a - take(hyperbolic_tangent(a)); },
        [take, seed = x.context().jitter_seed](auto a, auto, auto g) {
          const auto bend = take(hyperbolic_tangent(a));
          // The slope of x less that of tanh(x): in float32 as frameworks compute it.
          if (std::is_same_v<decltype(g), float> || seed != 0) return g - take(g * (1 - take(bend * bend)));
          return g * bend * bend;
        });
  });
}

Var logsigmoid(const Var& x) {
  return taking(x.context(), [&](auto take) {
    return unary(
        x, [](auto a) { return -log_one_plus_exp(-a); }, [take](auto a, auto, auto g) { return g * take.sigmoid(-a); });
  });
}

Var threshold(const Var& x, double least, double value) {
  const double limit = as_parameter(x, least);
  return unary_any(
      x,
      [=](auto a) {
        using T = decltype(a);
        return a <= number_as<T>(limit) ? number_as<T>(value) : a;
      },
      [=](auto a, auto, auto g) { return a <= static_cast<decltype(a)>(limit) ? decltype(g){0} : g; });
}

Var glu(const Var& x, std::int64_t axis) {
  if (x.rank() == 0) throw SkipError("glu does not support 0-dimensional tensors.");
  const std::int64_t size = x.size(axis);
  if (size % 2 != 0) {
    throw SkipError("Halving dimension must be even, but dimension " + std::to_string(axis) + " is size " +
                    std::to_string(size));
  }
  return taking(x.context(), [&](auto take) {
    return float_binary(
        slice(x, axis, 0, size / 2), slice(x, axis, size / 2, size / 2),
        [take](auto a, auto b) { return a * take.sigmoid(b); },
        [take](auto, auto b, auto, auto g) { return g * take.sigmoid(b); },
        [take](auto a, auto b, auto, auto g) { return g * a * take.sigmoid(b) * take.rest(b); });
  });
}

}  // namespace

Var sigmoid(const Var& x) {
  return taking(x.context(), [&](auto take) {
    return complex_unary(
        x, [take](auto a) { return take.sigmoid(a); },
        [take](auto, auto y, auto g) {
          const auto s = take(y);
          return g * conjugate(s) * conjugate(decltype(y){1} - s);
        });
  });
}

Var tanh(const Var& x) {
  return taking(x.context(), [&](auto take) {
    return complex_unary(
        x, [](auto a) { return hyperbolic_tangent(a); },
        [take](auto, auto y, auto g) { return g * conjugate(decltype(y){1} - take(y) * take(y)); });
  });
}

Var silu(const Var& x) {
  return taking(x.context(), [&](auto take) {
    return complex_unary(
        x, [take](auto a) { return a * take.sigmoid(a); },
        [take](auto a, auto, auto g) {
          const auto s = take.sigmoid(a);
          using T = decltype(a);
          return g * conjugate(s) * conjugate(T{1} + a * (T{1} - s));
        });
  });
}

Var softplus(const Var& x, double beta, double threshold) {
  return taking(x.context(), [&](auto take) {
    return unary(
        x,
        [=](auto a) {
          using T = decltype(a);
          const T scaled = a * static_cast<T>(beta);
          return scaled > static_cast<T>(threshold) ? a : log_one_plus_exp(scaled) / static_cast<T>(beta);
        },
        [=](auto a, auto, auto g) {
          using T = decltype(a);
          const T scaled = a * static_cast<T>(beta);
          return scaled > static_cast<T>(threshold) ? g : g * take.sigmoid(scaled);
        });
  });
}

OP("sigmoid(Tensor input)", unary_operator<sigmoid>);
NAMES("sigmoid",
      "Functional: sigmoid; Torch: sigmoid sigmoid_; Tensor: sigmoid sigmoid_; Aten: sigmoid sigmoid_; Mint: "
      "sigmoid; MintFunctional: sigmoid");
TRAITS("sigmoid", .complex = true, .element_work = 1.5);

OP("tanh(Tensor input)", unary_operator<tanh>);
NAMES("tanh",
      "Functional: tanh; Torch: tanh tanh_; Tensor: tanh tanh_; Aten: tanh tanh_; Mint: tanh; MintFunctional: "
      "tanh");
TRAITS("tanh", .complex = true, .element_work = 1.5);

OP("relu(Tensor input, bool inplace=False)", unary_operator<relu>);
NAMES("relu",
      "Functional: relu relu_; Torch: relu relu_; Tensor: relu relu_; Aten: relu relu_; Mint: relu; "
      "MintFunctional: relu relu_");

OP("relu6(Tensor input, bool inplace=False)",
   [](const Bound& args) -> Value { return hardtanh(args.var("input"), 0, 6); });
NAMES("relu6", "Functional: relu6; Aten: relu6");
// Kernels have the slope of either side where the straight line ends: that of a clamp is 1 there, that of torch's 0.
TRAITS("relu6", .gradient_steps = Steps::at_a_kink);

OP("hardtanh(Tensor input, float min_val=-1.0, float max_val=1.0, bool inplace=False)",
   [](const Bound& args) -> Value { return hardtanh(args.var("input"), args.real("min_val"), args.real("max_val")); });
NAMES("hardtanh", "Functional: hardtanh hardtanh_; Aten: hardtanh hardtanh_");
TRAITS("hardtanh", .gradient_steps = Steps::at_a_kink);

OP("leaky_relu(Tensor input, float negative_slope=0.01, bool inplace=False)",
   [](const Bound& args) -> Value { return leaky_relu(args.var("input"), args.real("negative_slope")); });
NAMES("leaky_relu",
      "Functional: leaky_relu leaky_relu_; Aten: leaky_relu leaky_relu_; Mint: leaky_relu; MintFunctional: "
      "leaky_relu");

OP("prelu(Tensor input, Tensor weight)",
   [](const Bound& args) -> Value { return prelu(args.var("input"), args.var("weight")); });
NAMES("prelu", "Functional: prelu; Torch: prelu; Tensor: prelu; Aten: prelu _prelu_kernel; MintFunctional: prelu");
TRAITS("prelu", .autocast = AutocastPolicy::lower);

OP("rrelu(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool inplace=False)",
   [](const Bound& args) -> Value {
     return rrelu(args.var("input"), args.real("lower"), args.real("upper"), args.flag("training"));
   });
NAMES("rrelu", "Functional: rrelu rrelu_; Torch: rrelu rrelu_");
TRAITS("rrelu", .varies = Varies::results);

OP("elu(Tensor input, float alpha=1.0, bool inplace=False)",
   [](const Bound& args) -> Value { return elu(args.var("input"), args.real("alpha"), 1, 1, 1); });
OP("elu(Tensor input, float alpha=1.0, float scale=1, float input_scale=1)", [](const Bound& args) -> Value {
  const double input_scale = args.real("input_scale");
  return elu(args.var("input"), args.real("alpha"), args.real("scale"), input_scale, input_scale);
});
NAMES("elu", "Functional: elu elu_; Aten: elu elu_; MintFunctional: elu");
TRAITS("elu", .element_work = 1.6);

OP("celu(Tensor input, float alpha=1.0, bool inplace=False)",
   [](const Bound& args) -> Value { return celu(args.var("input"), args.real("alpha")); });
NAMES("celu", "Functional: celu celu_; Torch: celu celu_; Aten: celu celu_");

OP("selu(Tensor input, bool inplace=False)", unary_operator<selu>);
NAMES("selu", "Functional: selu selu_; Torch: selu selu_; Aten: selu selu_; MintFunctional: selu");
TRAITS("selu", .element_work = 1.6);

OP("gelu(Tensor input, *, str approximate='none')",
   [](const Bound& args) -> Value { return gelu_as(args.var("input"), args.text("approximate")); });
NAMES("gelu", "Functional: gelu; Aten: gelu gelu_; Mint: gelu; MintFunctional: gelu");
TRAITS("gelu", .element_work = 3);

OP("silu(Tensor input, bool inplace=False)", unary_operator<silu>);
NAMES("silu", "Functional: silu; Aten: silu silu_; Mint: silu; MintFunctional: silu");
TRAITS("silu", .complex = true, .element_work = 1.6);

OP("mish(Tensor input, bool inplace=False)", unary_operator<mish>);
NAMES("mish", "Functional: mish; Aten: mish mish_; MintFunctional: mish");
TRAITS("mish", .element_work = 5);

OP("softplus(Tensor input, float beta=1, float threshold=20)",
   [](const Bound& args) -> Value { return softplus(args.var("input"), args.real("beta"), args.real("threshold")); });
NAMES("softplus", "Functional: softplus; Aten: softplus; Mint: softplus; MintFunctional: softplus");
TRAITS("softplus", .autocast = AutocastPolicy::float32, .element_work = 2.2);

OP("softsign(Tensor input)", unary_operator<softsign>);
NAMES("softsign", "Functional: softsign");
TRAITS("softsign", .recorded_gradients = RecordedGradients::of_last_step);

OP("hardswish(Tensor input, bool inplace=False)", unary_operator<hardswish>);
NAMES("hardswish", "Functional: hardswish; Aten: hardswish hardswish_; MintFunctional: hardswish");
// At 3 kernels of one framework have the slopes of both sides, 1.5 and 1.
TRAITS("hardswish", .gradient_steps = Steps::at_a_kink);

OP("hardsigmoid(Tensor input, bool inplace=False)", unary_operator<hardsigmoid>);
NAMES("hardsigmoid", "Functional: hardsigmoid; Aten: hardsigmoid hardsigmoid_; MintFunctional: hardsigmoid");
TRAITS("hardsigmoid", .gradient_steps = Steps::at_a_kink);

OP("hardshrink(Tensor input, float lambd=0.5)",
   [](const Bound& args) -> Value { return hardshrink(args.var("input"), args.real("lambd")); });
NAMES("hardshrink",
      "Functional: hardshrink; Torch: hardshrink; Tensor: hardshrink; Aten: hardshrink; MintFunctional: "
      "hardshrink");

OP("softshrink(Tensor input, float lambd=0.5)",
   [](const Bound& args) -> Value { return softshrink(args.var("input"), args.real("lambd")); });
NAMES("softshrink", "Functional: softshrink; Aten: softshrink; MintFunctional: softshrink");

OP("tanhshrink(Tensor input)", unary_operator<tanhshrink>);
NAMES("tanhshrink", "Functional: tanhshrink");
TRAITS("tanhshrink", .recorded_gradients = RecordedGradients::of_last_step);

OP("logsigmoid(Tensor input)", unary_operator<logsigmoid>);
NAMES("logsigmoid", "Functional: logsigmoid; MintFunctional: logsigmoid");
TRAITS("logsigmoid", .element_work = 2, .recorded_gradients = RecordedGradients::of_last_step);

OP("threshold(Tensor input, float threshold, float value, bool inplace=False)",
   [](const Bound& args) -> Value { return threshold(args.var("input"), args.real("threshold"), args.real("value")); });
NAMES("threshold", "Functional: threshold threshold_; Torch: threshold threshold_; Aten: threshold threshold_");

OP("glu(Tensor input, int dim=-1)",
   [](const Bound& args) -> Value { return glu(args.var("input"), args.integer("dim")); });
NAMES("glu", "Functional: glu; Aten: glu");

OP("_add_relu(Tensor input, Operand other, Scalar alpha=1)", [](const Bound& args) -> Value {
  Raised raised;
  const Var other = raised(args.var("other"));
  const double alpha = args.real("alpha");
  return raised.back(relu(add(raised(args.var("input")), alpha == 1 ? other : mul(other, alpha))));
});
NAMES("_add_relu", "Torch: _add_relu _add_relu_; Aten: _add_relu");

OP("_addmm_activation(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var a = raised(args.var("mat1"));
     const Var b = raised(args.var("mat2"));
     if (a.rank() != 2 || b.rank() != 2) throw SkipError("_addmm_activation needs matrices to multiply.");
     const double beta = args.real("beta");
     Var sum = mul(matmul(a, b), args.real("alpha"));
     if (beta != 0) sum = add(sum, mul(raised(args.var("input")), beta));
     return raised.back(args.flag("use_gelu") ? gelu(sum) : relu(sum));
   });
NAMES("_addmm_activation", "Tensor: _addmm_activation; Aten: _addmm_activation");

}  // namespace msrun
