// Random operators. Dropout draws its mask from a counter-based generator, so that it does not depend on threads or
// order; the values that remain are exact. What else is random has no expected result: see uncheckable.cpp.
#include <cmath>
#include <string>

#include "kernels/base/error.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

// Uniform in [0, 1), a function of the index alone: the output step of SplitMix64.
double uniform(std::int64_t index) {
  std::uint64_t z = 0x5851F42D4C957F2DU + (static_cast<std::uint64_t>(index) + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

// True where an element is kept, which it is with probability 1 - p.
Tensor keep_mask(const EvaluationContext& context, const Dims& shape, double p) {
  if (const std::optional<bool> decided = context.decided_dropping(p, shape))
    return Tensor::full(DType::boolean, shape, *decided ? 1 : 0);
  Tensor mask(DType::boolean, shape);
  auto* keep = mask.mutable_data<bool>();
  for (std::int64_t i = 0; i < mask.numel(); ++i) keep[i] = uniform(i) >= p;
  return mask;
}

void check_probability(double p) {
  if (!(p >= 0 && p <= 1)) {
    throw SkipError("dropout probability has to be between 0 and 1, but got " + std::to_string(p) + ".");
  }
}

// x * keep / (1 - p); zeros for p = 1.
Var masked(const Var& x, const Tensor& keep, double p) {
  if (!is_floating(x.dtype())) throw SkipError("dropout needs a floating tensor.");
  const double scale = p < 1 ? 1 / (1 - p) : 0;
  const auto product = [scale](auto value, auto kept) {
    using T = decltype(value);
    return kept != 0 ? value * static_cast<T>(scale) : T{0};
  };
  return x.tape().record(map(x.dtype(), x.tensor(), keep, product),
                         {{x, [keep, product](const Tensor& g) { return map(g.dtype(), g, keep, product); }}});
}

Var dropout(const Var& x, double p, bool training) {
  check_probability(p);
  return training && p > 0 ? masked(x, keep_mask(x.context(), x.shape(), p), p) : x;
}

// One decision for each channel. The leading two axes are batch and channel, or for an unbatched tensor of the given
// rank the first is the channel.
Dims channel_mask_shape(const Var& x, std::int64_t unbatched_rank) {
  if (x.rank() < 2) throw SkipError("Dropout of channels needs a tensor of at least two dimensions.");
  Dims shape(x.shape().size(), 1);
  shape[0] = x.shape()[0];
  if (x.rank() != unbatched_rank) shape[1] = x.shape()[1];
  return shape;
}

Var channel_dropout(const Var& x, double p, bool training, std::int64_t unbatched_rank) {
  check_probability(p);
  if (!training || p == 0) return x;
  return masked(x, keep_mask(x.context(), channel_mask_shape(x, unbatched_rank), p), p);
}

// Dropped elements become alpha, the limit of selu, and the result is scaled to keep mean and variance.
Var alpha_dropout(const Var& x, double p, bool training, bool channels) {
  check_probability(p);
  if (!training || p == 0) return x;
  if (!is_floating(x.dtype())) throw SkipError("dropout needs a floating tensor.");
  const Tensor keep = keep_mask(x.context(), channels ? channel_mask_shape(x, -1) : x.shape(), p);
  if (p == 1) return masked(x, keep, p);
  constexpr double alpha = -1.7580993408473766;
  const double scale = 1 / std::sqrt((1 - p) * (1 + p * alpha * alpha));
  const double shift = -scale * alpha * p;
  const Tensor y = map(x.dtype(), x.tensor(), keep, [=](auto value, auto kept) {
    using T = decltype(value);
    return (kept != 0 ? value : static_cast<T>(alpha)) * static_cast<T>(scale) + static_cast<T>(shift);
  });
  return x.tape().record(y, {{x, [keep, scale](const Tensor& g) {
                                return map(g.dtype(), g, keep, [scale](auto value, auto kept) {
                                  using T = decltype(value);
                                  return kept != 0 ? value * static_cast<T>(scale) : T{0};
                                });
                              }}});
}

Value native_dropout(const Bound& args) {
  const Var x = args.var("input");
  const double p = args.real("p");
  check_probability(p);
  const bool training = !args.given("train") || args.flag("train");
  const Tensor keep = training ? keep_mask(x.context(), x.shape(), p) : Tensor::full(DType::boolean, x.shape(), 1);
  return List{training ? masked(x, keep, p) : x, x.tape().constant(keep)};
}

}  // namespace

OP("dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False)",
   [](const Bound& args) -> Value { return dropout(args.var("input"), args.real("p"), args.flag("training")); });
OP("dropout(Tensor input, float p=0.5, bool train=True)",
   [](const Bound& args) -> Value { return dropout(args.var("input"), args.real("p"), args.flag("train")); });
NAMES("dropout", "Functional: dropout; Torch: dropout dropout_; Aten: dropout; Mint: dropout; MintFunctional: dropout");
TRAITS("dropout", .random_zeros = true, .recorded_gradients = RecordedGradients::of_passed_input);

OP("native_dropout(Tensor input, float p, bool? train)", native_dropout);
NAMES("native_dropout", "Aten: native_dropout");
TRAITS("native_dropout", .random_zeros = true);

OP("dropout1d(Tensor input, float p=0.5, bool training=True, bool inplace=False)", [](const Bound& args) -> Value {
  return channel_dropout(args.var("input"), args.real("p"), args.flag("training"), 2);
});
NAMES("dropout1d", "Functional: dropout1d");
TRAITS("dropout1d", .random_zeros = true, .random_channels = true,
       .recorded_gradients = RecordedGradients::of_passed_input);

OP("dropout2d(Tensor input, float p=0.5, bool training=True, bool inplace=False)", [](const Bound& args) -> Value {
  return channel_dropout(args.var("input"), args.real("p"), args.flag("training"), -1);
});
NAMES("dropout2d", "Functional: dropout2d");
TRAITS("dropout2d", .random_zeros = true, .random_channels = true,
       .recorded_gradients = RecordedGradients::of_passed_input);

OP("dropout3d(Tensor input, float p=0.5, bool training=True, bool inplace=False)", [](const Bound& args) -> Value {
  return channel_dropout(args.var("input"), args.real("p"), args.flag("training"), 4);
});
NAMES("dropout3d", "Functional: dropout3d");
TRAITS("dropout3d", .random_zeros = true, .random_channels = true,
       .recorded_gradients = RecordedGradients::of_passed_input);

OP("feature_dropout(Tensor input, float p, bool train)", [](const Bound& args) -> Value {
  return channel_dropout(args.var("input"), args.real("p"), args.flag("train"), -1);
});
NAMES("feature_dropout", "Torch: feature_dropout feature_dropout_");
TRAITS("feature_dropout", .random_zeros = true, .random_channels = true,
       .recorded_gradients = RecordedGradients::of_passed_input);

OP("alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False)", [](const Bound& args) -> Value {
  return alpha_dropout(args.var("input"), args.real("p"), args.flag("training"), false);
});
OP("alpha_dropout(Tensor input, float p, bool train)", [](const Bound& args) -> Value {
  return alpha_dropout(args.var("input"), args.real("p"), args.flag("train"), false);
});
NAMES("alpha_dropout", "Functional: alpha_dropout; Torch: alpha_dropout alpha_dropout_; Aten: alpha_dropout");
TRAITS("alpha_dropout", .random_zeros = true, .recorded_gradients = RecordedGradients::of_passed_input);

OP("feature_alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False)",
   [](const Bound& args) -> Value {
     return alpha_dropout(args.var("input"), args.real("p"), args.flag("training"), true);
   });
OP("feature_alpha_dropout(Tensor input, float p, bool train)", [](const Bound& args) -> Value {
  return alpha_dropout(args.var("input"), args.real("p"), args.flag("train"), true);
});
NAMES("feature_alpha_dropout",
      "Functional: feature_alpha_dropout; Torch: feature_alpha_dropout feature_alpha_dropout_");
TRAITS("feature_alpha_dropout", .random_zeros = true, .random_channels = true,
       .recorded_gradients = RecordedGradients::of_passed_input);

}  // namespace msrun
