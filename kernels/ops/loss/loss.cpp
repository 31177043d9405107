// Losses that compare two tensors element by element (api_inventory.md 3, loss), and what all losses share (loss.h).
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/logarithm.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/common/own_steps.h"
#include "kernels/ops/loss/loss.h"

namespace msrun {

Reduction reduction_of(const Bound& args, bool legacy_flags) {
  if (legacy_flags && (args.given("size_average") || args.given("reduce"))) {
    const bool average = !args.given("size_average") || args.flag("size_average");
    const bool reduce = !args.given("reduce") || args.flag("reduce");
    if (!reduce) return Reduction::none;
    return average ? Reduction::mean : Reduction::sum;
  }
  const Value& given = args.value("reduction");
  if (const bool* flag = given.get<bool>()) return *flag ? Reduction::mean : Reduction::none;
  if (const auto* code = given.get<std::int64_t>(); code != nullptr && *code >= 0 && *code <= 2) {
    return *code == 0 ? Reduction::none : *code == 1 ? Reduction::mean : Reduction::sum;
  }
  if (const auto* text = given.get<std::string>()) {
    if (*text == "none") return Reduction::none;
    if (*text == "mean" || *text == "elementwise_mean") return Reduction::mean;
    if (*text == "sum") return Reduction::sum;
    if (*text == "batchmean") return Reduction::batchmean;
    throw SkipError(*text + " is not a valid value for reduction");
  }
  throw SkipError("reduction must be 'none', 'mean' or 'sum'.");
}

Var reduced(const Var& losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::none:
      return losses;
    case Reduction::mean:
      return mean(losses, {}, false);
    case Reduction::sum:
      return sum(losses, {}, false);
    case Reduction::batchmean:
      break;
  }
  return mul(sum(losses, {}, false), 1 / static_cast<double>(losses.size(0)));
}

Var raised_to(const Var& x, double low) {
  return unary(
      x, [low](auto v) { return std::max(v, static_cast<decltype(v)>(low)); }, [](auto, auto, auto g) { return g; });
}

namespace {

template <class T>
T sign_of(T x) {
  return static_cast<T>((x > T{0}) - (x < T{0}));
}

Var squared_difference(const Var& x, const Var& t) {
  return float_binary(
      x, t, [](auto a, auto b) { return (a - b) * (a - b); },
      [](auto a, auto b, auto, auto g) { return 2 * (a - b) * g; },
      [](auto a, auto b, auto, auto g) { return 2 * (b - a) * g; });
}

Var absolute_difference(const Var& x, const Var& t) {
  return float_binary(
      x, t, [](auto a, auto b) { return std::abs(a - b); },
      [](auto a, auto b, auto, auto g) { return sign_of(a - b) * g; },
      [](auto a, auto b, auto, auto g) { return sign_of(b - a) * g; });
}

// Quadratic below the knee, linear above: d^2 / 2 and knee * (d - knee / 2), all divided by `divisor`.
Var huber(const Var& x, const Var& t, double knee, double divisor) {
  const auto slope = [knee, divisor](auto d) {
    using T = decltype(d);
    const T k = static_cast<T>(knee);
    return (std::abs(d) < k || is_nan(d) ? d : k * sign_of(d)) / static_cast<T>(divisor);
  };
  return float_binary(
      x, t,
      [knee, divisor](auto a, auto b) {
        using T = decltype(a);
        const T d = std::abs(a - b);
        const T k = static_cast<T>(knee);
        return (d < k ? d * d / 2 : k * (d - k / 2)) / static_cast<T>(divisor);
      },
      [slope](auto a, auto b, auto, auto g) { return slope(a - b) * g; },
      [slope](auto a, auto b, auto, auto g) { return -slope(a - b) * g; });
}

Var smooth_l1(const Var& x, const Var& t, double beta) {
  if (beta < 0) throw SkipError("smooth_l1_loss does not support negative values for beta.");
  if (beta > 0) return huber(x, t, beta, beta);
  // torch's kernel asks first whether the difference is at most -beta: at 0 both arguments have the slope from below.
  // Newer releases take l1_loss in its place, which has the slope 0 there.
  const auto slope = [flat = x.context().gives_alternative()](auto d) {
    using T = decltype(d);
    return is_nan(d) || (flat && d == 0) ? d : d > 0 ? T{1} : T{-1};
  };
  return float_binary(
      x, t, [](auto a, auto b) { return std::abs(a - b); },
      [slope](auto a, auto b, auto, auto g) { return slope(a - b) * g; },
      [slope](auto a, auto b, auto, auto g) { return slope(b - a) * g; });
}

Var huber_checked(const Var& x, const Var& t, double delta) {
  if (!(delta > 0)) throw SkipError("huber_loss does not support non-positive values for delta.");
  return huber(x, t, delta, 1);
}

void require_between(const Var& x, double low, double high, const char* message) {
  const Tensor values = to_compute(x.tensor());
  visit_compute(values.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* data = values.data<T>();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      if (data[i] < static_cast<T>(low) || data[i] > static_cast<T>(high)) throw SkipError(message);
    }
  });
}

template <class T>
T clamped_log(T x) {
  return std::max(logarithm(x), T{-100});
}

Var cross_entropy_of_probability(const Var& x, const Var& t) {
  require_between(x, 0, 1, "all elements of input should be between 0 and 1");
  if (x.shape() != t.shape()) {
    throw SkipError("Using a target size " + tuple_text(t.shape()) + " that is different to the input size " +
                    tuple_text(x.shape()) + " is not supported.");
  }
  return float_binary(
      x, t, [](auto p, auto y) { return -(y * clamped_log(p) + (1 - y) * clamped_log(1 - p)); },
      [](auto p, auto y, auto, auto g) {
        using T = decltype(p);
        // Frameworks keep the least divisor in float32.
        return g * (p - y) / std::max((1 - p) * p, static_cast<T>(1e-12F));
      },
      // The gradient of the target does not know the clamp. Frameworks form it of two logarithms.
      [seed = x.context().jitter_seed](auto p, auto, auto, auto g) {
        return g * (rough_step(std::log(rough_step(1 - p, seed)), seed) - rough_step(std::log(p), seed));
      });
}

// Devices may form the terms that cancel one by one: t ln t and t x, and those of the target's gradient.
Var divergence(const Var& x, const Var& t, bool log_target) {
  const std::uint32_t seed = x.context().jitter_seed;
  const OwnStep of_t(t);
  if (log_target) {
    const auto weight = [of_t](auto b) { return of_t(exponential(b)); };
    return float_binary(
        x, t, [weight](auto a, auto b) { return weight(b) * (b - a); },
        [weight](auto, auto b, auto, auto g) { return -weight(b) * g; },
        [seed](auto a, auto b, auto, auto g) {
          if (seed == 0) return exponential(b) * (b - a + 1) * g;
          return rough_step(exponential(b) * (b - a) * g, seed) + rough_step(exponential(b) * g, seed);
        });
  }
  const bool flat = x.context().gives_alternative();
  return float_binary(
      x, t,
      // A target of 0 is left out in releases before 1.13, and since then torch multiplies the 0 with the other
      // argument.
      [seed, of_t, flat](auto a, auto b) {
        if (b == 0) return flat ? b : -b * a;
        if (seed == 0) return b * (logarithm(b) - a);
        return rough_step(of_t(b * logarithm(b)), seed) - rough_step(b * a, seed);
      },
      [](auto, auto b, auto, auto g) { return -b * g; },
      // At 0 releases before 1.13 have the slope 0, and since then torch multiplies 0 and infinity.
      [seed, flat](auto a, auto b, auto, auto g) {
        if (b == 0) return flat ? b : std::numeric_limits<decltype(b)>::quiet_NaN();
        // The slope of t ln t is that of t times the logarithm and that of the logarithm, t / t, times the gradient,
        // which loses digits below the normal numbers.
        if (seed == 0) return (logarithm(b) + 1 - a) * g;
        const auto of_product = rough_step(rough_step(logarithm(b), seed) * g, seed);
        return rough_step(of_product + rough_step(b * g / b, seed), seed) - rough_step(a * g, seed);
      });
}

// ln(t!) by Stirling's formula, for t > 1, of steps that are rounded so.
template <class T>
T stirling(T t, const OwnStep& step) {
  if (!(t > T{1})) return T{0};
  return step(step(t * step(std::log(t))) - t) + step(std::log(2 * std::numbers::pi_v<T> * t)) / 2;
}

// Its slope. What the formula is masked by does not reach the slopes of its logarithms: torch has 0 times infinity.
template <class T>
T stirling_slope(T t) {
  if (t <= 0) return std::numeric_limits<T>::quiet_NaN();
  return t > 1 ? std::log(t) + 1 / (2 * t) : T{0};
}

// The gradient (slope - other) g of a target with that slope, of terms as frameworks form them one by one: two of them,
// those of t ln t and of -t, are g and cancel.
template <class T>
T gradient_by_terms(T t, T other, T g, const OwnStep& step, std::uint32_t seed) {
  T sum{};
  if (t > 1) {
    const T with_logarithm = rough_step(rough_step(step(std::log(t)) * g, seed) + g, seed);
    sum = rough_step(rough_step(with_logarithm - g, seed) + rough_step(step(1 / (2 * t)) * g, seed), seed);
  }
  return sum - rough_step(other * g, seed);
}

Var poisson(const Var& x, const Var& t, bool log_input, bool full, double epsilon) {
  const OwnStep of_x(x);
  const OwnStep of_t(t);
  const auto constant = [full, of_t](auto b) { return full ? of_t(stirling(b, of_t)) : decltype(b){0}; };
  const auto target_gradient = [full, of_t, seed = x.context().jitter_seed](auto b, auto other, auto g) {
    if (full && seed != 0 && b > 0) return gradient_by_terms(b, other, g, of_t, seed);
    return ((full ? of_t(stirling_slope(b)) : decltype(b){0}) - other) * g;
  };
  const std::uint32_t seed = x.context().jitter_seed;
  // The terms that cancel may be formed one by one.
  const auto rough = [seed](auto value) { return rough_step(value, seed); };
  if (log_input) {
    return float_binary(
        x, t, [=](auto a, auto b) { return rough(rough(of_x(exponential(a))) - rough(b * a)) + rough(constant(b)); },
        [=](auto a, auto b, auto, auto g) {
          if (seed != 0) return rough(rough(of_x(exponential(a))) * g) - rough(b * g);
          return (of_x(exponential(a)) - b) * g;
        },
        [=](auto a, auto b, auto, auto g) { return target_gradient(b, a, g); });
  }
  const auto logarithm_of = [=](auto a) {
    return rough(of_x(logarithm(rough(of_x(a + static_cast<decltype(a)>(epsilon))))));
  };
  return float_binary(
      x, t, [=](auto a, auto b) { return rough(a - rough(b * logarithm_of(a))) + rough(constant(b)); },
      [=](auto a, auto b, auto, auto g) {
        const auto divisor = rough(a + static_cast<decltype(a)>(epsilon));
        if (seed != 0) return g - rough(rough(b * g) / divisor);
        return (1 - b / divisor) * g;
      },
      [=](auto a, auto b, auto, auto g) { return target_gradient(b, logarithm_of(a), g); });
}

Var gaussian(const Var& x, const Var& t, const Var& given_variance, bool full, double epsilon) {
  Var variance = given_variance;
  if (variance.shape() != x.shape()) {
    Dims without_last = x.shape();
    if (!without_last.empty()) without_last.pop_back();
    Dims with_one = without_last;
    with_one.push_back(1);
    if (x.rank() > 0 && variance.shape() == without_last) {
      variance = reshape(variance, with_one);
    } else if (x.rank() == 0 || variance.shape() != with_one) {
      throw SkipError("var is of incorrect size");
    }
  }
  require_between(variance, 0, std::numeric_limits<double>::infinity(), "var has negative entry/entries");
  const Var v = raised_to(variance, epsilon);
  const double constant = full ? std::log(2 * std::numbers::pi) / 2 : 0;
  const Var half_log = unary(
      v, [constant](auto a) { return logarithm(a) / 2 + static_cast<decltype(a)>(constant); },
      [](auto a, auto, auto g) { return g / (2 * a); });
  return add(half_log, mul(div(squared_difference(x, t), v), 0.5));
}

// What the mean of weighted losses divides their sum by.
enum class WeightedMean : std::uint8_t { over_weights, over_elements };

// loss(input, target) times a weight for each element of the input, which newer releases take, reduced.
template <class Loss>
Value weighted_loss(const Bound& args, bool legacy_flags, WeightedMean mean_of, const Loss& loss) {
  Raised raised;
  const Var x = raised(args.var("input"));
  const Var t = raised(args.var("target"));
  const Var weight = raised(args.var("weight"));
  if (weight.shape() != x.shape()) throw SkipError("Weights and input must have the same size.");
  const Var losses = mul(loss(x, t, raised), weight);
  const Reduction reduction = reduction_of(args, legacy_flags);
  const bool over_weights = reduction == Reduction::mean && mean_of == WeightedMean::over_weights;
  return raised.back(over_weights ? div(sum(losses, {}, false), sum(weight, {}, false)) : reduced(losses, reduction));
}

Value mse_loss(const Bound& args, bool legacy_flags) {
  const auto loss = [](const Var& x, const Var& t, Raised&) { return squared_difference(x, t); };
  if (legacy_flags && args.given("weight")) return weighted_loss(args, legacy_flags, WeightedMean::over_weights, loss);
  return elementwise_loss(args, legacy_flags, loss);
}

Value l1_loss(const Bound& args, bool legacy_flags) {
  const auto loss = [](const Var& x, const Var& t, Raised&) { return absolute_difference(x, t); };
  if (legacy_flags && args.given("weight")) return weighted_loss(args, legacy_flags, WeightedMean::over_weights, loss);
  return elementwise_loss(args, legacy_flags, loss);
}

Value huber_loss(const Bound& args) {
  const auto loss = [&](const Var& x, const Var& t, Raised&) { return huber_checked(x, t, args.real("delta")); };
  if (args.given("weight")) return weighted_loss(args, without_legacy_flags, WeightedMean::over_elements, loss);
  return elementwise_loss(args, without_legacy_flags, loss);
}

Value smooth_l1_loss(const Bound& args, bool legacy_flags) {
  return elementwise_loss(args, legacy_flags,
                          [&](const Var& x, const Var& t, Raised&) { return smooth_l1(x, t, args.real("beta")); });
}

Value bce_loss(const Bound& args, bool legacy_flags) {
  return elementwise_loss(args, legacy_flags, [&](const Var& x, const Var& t, Raised& raised) {
    const Var loss = cross_entropy_of_probability(x, t);
    const auto weight = raised(args.optional_var("weight"));
    return weight ? mul(loss, *weight) : loss;
  });
}

Value kl_div_loss(const Bound& args, bool legacy_flags) {
  return elementwise_loss(args, legacy_flags, [&](const Var& x, const Var& t, Raised&) {
    return divergence(x, t, args.flag("log_target"));
  });
}

Value poisson_nll_loss(const Bound& args, bool legacy_flags) {
  return elementwise_loss(args, legacy_flags, [&](const Var& x, const Var& t, Raised&) {
    return poisson(x, t, args.flag("log_input"), args.flag("full"), args.real("eps"));
  });
}

}  // namespace

OP("mse_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', "
   "Tensor? weight=None)",
   [](const Bound& args) { return mse_loss(args, with_legacy_flags); });
NAMES("mse_loss", "Functional: mse_loss; MintFunctional: mse_loss");
TRAITS("mse_loss", .autocast = AutocastPolicy::float32);
OP("aten_mse_loss(Tensor input, Tensor target, int reduction=1)",
   [](const Bound& args) { return mse_loss(args, without_legacy_flags); });
NAMES("aten_mse_loss", "Aten: mse_loss");

OP("l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', "
   "Tensor? weight=None)",
   [](const Bound& args) { return l1_loss(args, with_legacy_flags); });
NAMES("l1_loss", "Functional: l1_loss; MintFunctional: l1_loss");
TRAITS("l1_loss", .autocast = AutocastPolicy::float32, .recorded_gradients = RecordedGradients::of_last_step);
OP("aten_l1_loss(Tensor input, Tensor target, int reduction=1)",
   [](const Bound& args) { return l1_loss(args, without_legacy_flags); });
NAMES("aten_l1_loss", "Aten: l1_loss");
TRAITS("aten_l1_loss", .recorded_gradients = RecordedGradients::of_last_step);

OP("smooth_l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', "
   "float beta=1.0)",
   [](const Bound& args) { return smooth_l1_loss(args, with_legacy_flags); });
NAMES("smooth_l1_loss", "Functional: smooth_l1_loss");
TRAITS("smooth_l1_loss", .autocast = AutocastPolicy::float32);
OP("aten_smooth_l1_loss(Tensor input, Tensor target, int reduction=1, float beta=1.0)",
   [](const Bound& args) { return smooth_l1_loss(args, without_legacy_flags); });
NAMES("aten_smooth_l1_loss", "Aten: smooth_l1_loss");

OP("huber_loss(Tensor input, Tensor target, any reduction='mean', float delta=1.0, Tensor? weight=None)", huber_loss);
NAMES("huber_loss", "Functional: huber_loss; Aten: huber_loss");
TRAITS("huber_loss", .autocast = AutocastPolicy::float32);

OP("binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
   "str reduction='mean')",
   [](const Bound& args) { return bce_loss(args, with_legacy_flags); });
NAMES("binary_cross_entropy", "Functional: binary_cross_entropy; MintFunctional: binary_cross_entropy");
OP("aten_binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, int reduction=1)",
   [](const Bound& args) { return bce_loss(args, without_legacy_flags); });
NAMES("aten_binary_cross_entropy", "Aten: binary_cross_entropy");

OP("kl_div(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', "
   "bool log_target=False)",
   [](const Bound& args) { return kl_div_loss(args, with_legacy_flags); });
NAMES("kl_div", "Functional: kl_div");
TRAITS("kl_div", .autocast = AutocastPolicy::float32, .recorded_gradients = RecordedGradients::of_last_step);
OP("aten_kl_div(Tensor input, Tensor target, int reduction=1, *, bool log_target=False)",
   [](const Bound& args) { return kl_div_loss(args, without_legacy_flags); });
NAMES("aten_kl_div", "Aten: kl_div");
TRAITS("aten_kl_div", .autocast = AutocastPolicy::float32, .recorded_gradients = RecordedGradients::of_last_step);
OP("torch_kl_div(Tensor input, Tensor target, int reduction=0, *, bool log_target=False)",
   [](const Bound& args) { return kl_div_loss(args, without_legacy_flags); });
NAMES("torch_kl_div", "Torch: kl_div");
TRAITS("torch_kl_div", .autocast = AutocastPolicy::float32, .recorded_gradients = RecordedGradients::of_last_step);

OP("poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, "
   "float eps=1e-08, bool? reduce=None, str reduction='mean')",
   [](const Bound& args) { return poisson_nll_loss(args, with_legacy_flags); });
NAMES("poisson_nll_loss", "Functional: poisson_nll_loss");
TRAITS("poisson_nll_loss", .autocast = AutocastPolicy::float32, .recorded_gradients = RecordedGradients::of_last_step);
OP("aten_poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction)",
   [](const Bound& args) { return poisson_nll_loss(args, without_legacy_flags); });
NAMES("aten_poisson_nll_loss", "Torch: poisson_nll_loss; Aten: poisson_nll_loss");
TRAITS("aten_poisson_nll_loss", .recorded_gradients = RecordedGradients::of_last_step);

OP("gaussian_nll_loss(Tensor input, Tensor target, Operand var, bool full=False, float eps=1e-06, "
   "str reduction='mean')",
   [](const Bound& args) {
     return elementwise_loss(args, without_legacy_flags, [&](const Var& x, const Var& t, Raised& raised) {
       const Var given = args.var("var");
       // A number is that of every element.
       const Var variance =
           given.is_number()
               ? x.tape().constant(Tensor::full(x.dtype(), x.shape(), as_stored(x, given.tensor().item())))
               : raised(given);
       return gaussian(x, t, variance, args.flag("full"), args.real("eps"));
     });
   });
NAMES("gaussian_nll_loss", "Functional: gaussian_nll_loss");
TRAITS("gaussian_nll_loss", .autocast = AutocastPolicy::float32, .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace msrun
