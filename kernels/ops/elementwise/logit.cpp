// The inverse of the logistic function.
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/api/operators.h"
#include "kernels/numeric/logarithm.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/elementwise/function_forms.h"

namespace msrun {
namespace {

// g / (a (1 - a)). At -0.0 it is infinite with either sign, by the way in which kernels form the product.
auto slope_of_logit(const EvaluationContext& context) {
  return [is_positive = context.gives_alternative()](auto a, auto g) {
    const auto product = a * (1 - a);
    return g / (is_positive && product == 0 ? std::abs(product) : product);
  };
}

Var logit(const Var& x, std::optional<double> eps) {
  const auto slope = slope_of_logit(x.context());
  if (!eps || *eps < 0) {
    return unary(
        x, [](auto a) { return logarithm(a / (1 - a)); },
        [slope](auto a, auto, auto g) {
          using T = decltype(a);
          return a < 0 || a > 1 ? std::numeric_limits<T>::quiet_NaN() : slope(a, g);
        });
  }
  const double low = as_parameter(x, *eps);
  const double high = as_parameter(x, 1 - low);
  return unary(
      x,
      [low, high](auto a) {
        using T = decltype(a);
        const T raised = a < static_cast<T>(low) ? static_cast<T>(low) : a;
        const T inside = raised > static_cast<T>(high) ? static_cast<T>(high) : raised;
        return logarithm(inside / (1 - inside));
      },
      open_at_nan(
          x.context(),
          [low, high, slope](auto a, auto, auto g) {
            using T = decltype(a);
            return a >= static_cast<T>(low) && a <= static_cast<T>(high) ? slope(a, g) : T{0};
          },
          std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace

OP("logit(Tensor input, float? eps=None)",
   [](const Bound& args) -> Value { return logit(args.var("input"), args.optional_real("eps")); });
NAMES("logit", "Torch: logit logit_; Tensor: logit logit_; Aten: logit logit_");

}  // namespace msrun
