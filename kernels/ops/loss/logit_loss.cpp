// Losses of logits, which are to be the arguments of a sigmoid (api_inventory.md 3, loss).
#include <cmath>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/logistic.h"
#include "kernels/numeric/roughness.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/loss/loss.h"

namespace msrun {
namespace {

// Frameworks that take the logarithm of 1 + exp(z) lose the digits that the sum has no room for.
template <class T>
T log_of_sum(T z, std::uint32_t seed) {
  return seed == 0 || z > 0 ? log_one_plus_exp(z) : std::log(off_by_a_place(1 + std::exp(z), seed));
}

// The sigmoid of a logit in a gradient.
template <class T>
T probability_of(T z, std::uint32_t seed) {
  return seed == 0 ? logistic(z) : rough_logistic(z, seed);
}

// torch adds the largest term last, which is infinity minus infinity at -infinity.
template <class T>
bool is_open_logit(T z) {
  return z == -std::numeric_limits<T>::infinity();
}

// (1 - t) ln(1 + e^x) + p t ln(1 + e^-x), and gradients, in which no terms cancel. Frameworks form
// (1 - t) x + (1 + (p - 1) t) ln(1 + e^-x), and the gradient (p t + 1 - t) s - p t of the sigmoid s.
Var weighted_cross_entropy_of_logit(const Var& x, const Var& t, const Var& positive_weight) {
  const std::uint32_t seed = x.context().jitter_seed;
  const auto rough = [seed](auto value) { return rough_step(value, seed); };
  return ternary(
      float_result_dtype({&x, &t, &positive_weight}), x, t, positive_weight, floats_only([=](auto z, auto y, auto p) {
        using T = decltype(z);
        if (is_open_logit(z)) return std::numeric_limits<T>::quiet_NaN();
        if (seed == 0) return (1 - y) * log_one_plus_exp(z) + p * y * log_one_plus_exp(-z);
        const T factor = rough(rough((p - 1) * y) + 1);
        return rough((1 - y) * z) + rough(factor * rough(log_of_sum(-z, seed)));
      }),
      [=](auto z, auto y, auto p, auto g) {
        if (seed == 0) return ((1 - y) * logistic(z) - p * y * logistic(-z)) * g;
        const auto weight = rough(p * y);
        return (rough(rough(rough(weight + 1) - y) * probability_of(z, seed)) - weight) * g;
      },
      [=](auto z, auto, auto p, auto g) {
        return (rough(p * rough(log_one_plus_exp(-z))) - rough(log_one_plus_exp(z))) * g;
      },
      [=](auto z, auto y, auto, auto g) { return y * rough(log_of_sum(-z, seed)) * g; });
}

// two_terms: frameworks make the loss, and the target's gradient, of the logarithms of two probabilities. Those of the
// gradient cancel near 0, and the loss at -infinity is that of a target above 0.
Var cross_entropy_of_logit(const Var& x, const Var& t, const std::optional<Var>& positive_weight,
                           bool two_terms = false) {
  if (x.shape() != t.shape()) {
    throw SkipError("Target size " + tuple_text(t.shape()) + " must be the same as input size " +
                    tuple_text(x.shape()) + ".");
  }
  if (positive_weight) return weighted_cross_entropy_of_logit(x, t, *positive_weight);
  return float_binary(
      x, t,
      [seed = x.context().jitter_seed, two_terms](auto z, auto y) {
        using T = decltype(z);
        if (is_open_logit(z) && !two_terms) return std::numeric_limits<T>::quiet_NaN();
        if (seed != 0 && !is_open_logit(z))
          return rough_step((1 - y) * z, seed) + rough_step(log_of_sum(-z, seed), seed);
        return (z > 0 ? (1 - y) * z : -z * y) + log_of_sum(-std::abs(z), seed);
      },
      [seed = x.context().jitter_seed](auto z, auto y, auto, auto g) { return (probability_of(z, seed) - y) * g; },
      [seed = two_terms ? x.context().jitter_seed : 0](auto z, auto, auto, auto g) {
        if (seed == 0) return -z * g;
        return rough_step(log_of_sum(-z, seed) * g, seed) - rough_step(log_of_sum(z, seed) * g, seed);
      });
}

// ln(1 + e^z) as frameworks compute it here, without a form for large z: beyond the range of float32's exponential the
// result is infinite, and its slope e^z / (1 + e^z) is NaN.
Var soft_margin(const Var& x, const Var& y) {
  const auto is_large = [](auto z) { return std::is_same_v<decltype(z), float> && std::isinf(std::exp(z)); };
  const auto slope = [is_large, seed = x.context().jitter_seed](auto z) {
    return is_large(z) ? std::numeric_limits<decltype(z)>::quiet_NaN() : probability_of(z, seed);
  };
  return float_binary(
      x, y,
      [is_large, seed = x.context().jitter_seed](auto a, auto label) {
        const auto z = -label * a;
        return is_large(z) ? std::numeric_limits<std::remove_cv_t<decltype(z)>>::infinity() : log_of_sum(z, seed);
      },
      [slope](auto a, auto label, auto, auto g) { return -label * slope(-label * a) * g; },
      [slope](auto a, auto label, auto, auto g) { return -a * slope(-label * a) * g; });
}

Value bce_with_logits_loss(const Bound& args, bool legacy_flags) {
  return elementwise_loss(args, legacy_flags, [&](const Var& x, const Var& t, Raised& raised) {
    const Var loss = cross_entropy_of_logit(x, t, raised(args.optional_var("pos_weight")));
    const auto weight = raised(args.optional_var("weight"));
    return weight ? mul(loss, *weight) : loss;
  });
}

Value soft_margin_loss(const Bound& args, bool legacy_flags) {
  return elementwise_loss(args, legacy_flags, [](const Var& x, const Var& t, Raised&) { return soft_margin(x, t); });
}

}  // namespace

OP("binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
   "bool? reduce=None, str reduction='mean', Tensor? pos_weight=None)",
   [](const Bound& args) { return bce_with_logits_loss(args, with_legacy_flags); });
NAMES("binary_cross_entropy_with_logits",
      "Functional: binary_cross_entropy_with_logits; MintFunctional: binary_cross_entropy_with_logits");
TRAITS("binary_cross_entropy_with_logits", .autocast = AutocastPolicy::float32, .element_work = 7);
OP("aten_binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
   "any reduction=1)",
   [](const Bound& args) { return bce_with_logits_loss(args, without_legacy_flags); });
NAMES("aten_binary_cross_entropy_with_logits",
      "Mint: binary_cross_entropy_with_logits; Aten: binary_cross_entropy_with_logits");
TRAITS("aten_binary_cross_entropy_with_logits", .autocast = AutocastPolicy::float32);
OP("torch_binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
   "int reduction=0)",
   [](const Bound& args) { return bce_with_logits_loss(args, without_legacy_flags); });
NAMES("torch_binary_cross_entropy_with_logits", "Torch: binary_cross_entropy_with_logits");
TRAITS("torch_binary_cross_entropy_with_logits", .autocast = AutocastPolicy::float32);
OP("bce_with_logits(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', Tensor? pos_weight=None)",
   [](const Bound& args) { return bce_with_logits_loss(args, without_legacy_flags); });
NAMES("bce_with_logits", "MintFunctional: bce_with_logits");

OP("soft_margin_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean')",
   [](const Bound& args) { return soft_margin_loss(args, with_legacy_flags); });
NAMES("soft_margin_loss", "Functional: soft_margin_loss");
TRAITS("soft_margin_loss", .autocast = AutocastPolicy::float32);
OP("aten_soft_margin_loss(Tensor input, Tensor target, int reduction=1)",
   [](const Bound& args) { return soft_margin_loss(args, without_legacy_flags); });
NAMES("aten_soft_margin_loss", "Aten: soft_margin_loss");

OP("multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
   "bool? reduce=None, str reduction='mean')",
   [](const Bound& args) {
     return elementwise_loss(args, with_legacy_flags, [&](const Var& x, const Var& t, Raised& raised) {
       const Var loss = cross_entropy_of_logit(x, t, std::nullopt, true);
       const auto weight = raised(args.optional_var("weight"));
       return mean(weight ? mul(loss, *weight) : loss, Dims{-1}, false);
     });
   });
NAMES("multilabel_soft_margin_loss", "Functional: multilabel_soft_margin_loss");
TRAITS("multilabel_soft_margin_loss", .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace msrun
