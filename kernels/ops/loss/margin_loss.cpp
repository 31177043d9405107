// Losses with a margin, of distances and cosines (api_inventory.md 3, loss).
#include <algorithm>
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/norm_orders.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/loss/loss.h"

namespace msrun {
namespace {

Var positive_part(const Var& x) {
  return unary(
      x, [](auto v) { return std::max(v, decltype(v){0}); },
      [](auto v, auto, auto g) { return v >= 0 ? g : decltype(g){0}; });
}

Var hinge_ranking(const Var& a, const Var& b, const Var& y, double distance) {
  const double margin = as_parameter(a, distance);
  const auto active = [margin](auto d, auto sign) { return static_cast<decltype(d)>(margin) - sign * d >= 0; };
  return float_binary(
      sub(a, b), y,
      [margin](auto d, auto sign) { return std::max(static_cast<decltype(d)>(margin) - sign * d, decltype(d){0}); },
      [active](auto d, auto sign, auto, auto g) { return -sign * (active(d, sign) ? g : decltype(g){0}); },
      [active](auto d, auto sign, auto, auto g) { return -d * (active(d, sign) ? g : decltype(g){0}); });
}

// Targets other than 1 and -1 count as both, as in torch's composition.
Var hinge_embedding(const Var& x, const Var& y, double distance) {
  const double margin = as_parameter(x, distance);
  return float_binary(
      x, y,
      [margin](auto a, auto label) {
        using T = decltype(a);
        const T away = label != 1 ? std::max(static_cast<T>(margin) - a, T{0}) : T{0};
        return away + (label != -1 ? a : T{0});
      },
      [margin](auto a, auto label, auto, auto g) {
        using T = decltype(a);
        const T away = label != 1 && a <= static_cast<T>(margin) ? -g : T{0};
        return away + (label != -1 ? g : T{0});
      },
      [](auto, auto, auto, auto g) { return decltype(g){0}; });
}

Var cosine_embedding(const Var& a, const Var& b, const Var& y, double angle, double least) {
  const double margin = as_parameter(a, angle);
  if ((y.rank() != 0 && y.rank() != 1) || a.rank() != y.rank() + 1 || a.rank() != b.rank()) {
    throw SkipError(
        "cosine_embedding_loss expects inputs of one or two dimensions and a target of one dimension less.");
  }
  const Dims last{-1};
  const auto squares = [&](const Var& v) { return add(sum(mul(v, v), last, false), least); };
  const Var inverse = unary(
      mul(squares(a), squares(b)), [](auto v) { return 1 / std::sqrt(v); },
      [](auto v, auto r, auto g) { return -g * r / (2 * v); });
  const Var cosine = mul(sum(mul(a, b), last, false), inverse);
  return float_binary(
      cosine, y,
      [margin](auto c, auto label) {
        using T = decltype(c);
        return label == 1 ? 1 - c : label == -1 ? std::max(c - static_cast<T>(margin), T{0}) : T{0};
      },
      [margin](auto c, auto label, auto, auto g) {
        using T = decltype(c);
        return label == 1 ? -g : label == -1 && c >= static_cast<T>(margin) ? g : T{0};
      },
      [](auto, auto, auto, auto g) { return decltype(g){0}; });
}

Var cosine_similarity(const Var& a, const Var& b, std::int64_t axis, double epsilon) {
  const Dims shape = broadcast_shapes(a.shape(), b.shape());
  const Var x = expand(a, shape);
  const Var y = expand(b, shape);
  const Dims axes{axis};
  const auto unit = [&](const Var& v) { return div(v, raised_to(vector_norm(v, 2, axes, true), epsilon)); };
  return sum(mul(unit(x), unit(y)), axes, false);
}

Var triplet(const Var& anchor, const Var& positive, const Var& negative, double margin, double p, double epsilon,
            bool swap) {
  const auto distance = [&](const Var& a, const Var& b) {
    return vector_norm(add(sub(a, b), epsilon), p, Dims{-1}, false);
  };
  Var far = distance(anchor, negative);
  if (swap) far = minimum(far, distance(positive, negative));
  return positive_part(add(sub(distance(anchor, positive), far), as_parameter(far, margin)));
}

Value hinge_embedding_loss(const Bound& args, bool legacy_flags) {
  return elementwise_loss(args, legacy_flags, [&](const Var& x, const Var& t, Raised&) {
    return hinge_embedding(x, t, args.real("margin"));
  });
}

template <class Loss>
Value pair_loss(const Bound& args, bool legacy_flags, const Loss& loss) {
  Raised raised;
  const Var a = raised(args.var("input1"));
  const Var b = raised(args.var("input2"));
  const Var y = raised(args.var("target"));
  return raised.back(reduced(loss(a, b, y, args.real("margin")), reduction_of(args, legacy_flags)));
}

Value cosine_embedding_loss(const Bound& args, bool legacy_flags) {
  // Frameworks store what this is added to in the dtype of the call. The number itself is of float32.
  const double least = as_stored(args.var("input1"), static_cast<double>(1e-12F));
  return pair_loss(args, legacy_flags, [least](const Var& a, const Var& b, const Var& y, double margin) {
    return cosine_embedding(a, b, y, margin, least);
  });
}

Value triplet_loss(const Bound& args, bool legacy_flags, double p, double epsilon) {
  Raised raised;
  const Var anchor = raised(args.var("anchor"));
  const Var positive = raised(args.var("positive"));
  const Var negative = raised(args.var("negative"));
  const Var loss = triplet(anchor, positive, negative, args.real("margin"), p, epsilon, args.flag("swap"));
  return raised.back(reduced(loss, reduction_of(args, legacy_flags)));
}

Value triplet_margin_loss(const Bound& args, bool legacy_flags) {
  return triplet_loss(args, legacy_flags, args.real("p"), args.real("eps"));
}

}  // namespace

OP("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, bool? size_average=None, "
   "bool? reduce=None, str reduction='mean')",
   [](const Bound& args) { return pair_loss(args, with_legacy_flags, hinge_ranking); });
NAMES("margin_ranking_loss", "Functional: margin_ranking_loss");
TRAITS("margin_ranking_loss", .autocast = AutocastPolicy::float32,
       .recorded_gradients = RecordedGradients::of_last_step);
OP("aten_margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, int reduction=1)",
   [](const Bound& args) { return pair_loss(args, without_legacy_flags, hinge_ranking); });
NAMES("aten_margin_ranking_loss", "Aten: margin_ranking_loss");
TRAITS("aten_margin_ranking_loss", .autocast = AutocastPolicy::float32,
       .recorded_gradients = RecordedGradients::of_last_step);
OP("torch_margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, int reduction=0)",
   [](const Bound& args) { return pair_loss(args, without_legacy_flags, hinge_ranking); });
NAMES("torch_margin_ranking_loss", "Torch: margin_ranking_loss");
TRAITS("torch_margin_ranking_loss", .autocast = AutocastPolicy::float32,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, bool? size_average=None, bool? reduce=None, "
   "str reduction='mean')",
   [](const Bound& args) { return hinge_embedding_loss(args, with_legacy_flags); });
NAMES("hinge_embedding_loss", "Functional: hinge_embedding_loss");
TRAITS("hinge_embedding_loss", .autocast = AutocastPolicy::float32,
       .recorded_gradients = RecordedGradients::of_last_step);
OP("aten_hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, int reduction=1)",
   [](const Bound& args) { return hinge_embedding_loss(args, without_legacy_flags); });
NAMES("aten_hinge_embedding_loss", "Aten: hinge_embedding_loss");
TRAITS("aten_hinge_embedding_loss", .autocast = AutocastPolicy::float32,
       .recorded_gradients = RecordedGradients::of_last_step);
OP("torch_hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, int reduction=0)",
   [](const Bound& args) { return hinge_embedding_loss(args, without_legacy_flags); });
NAMES("torch_hinge_embedding_loss", "Torch: hinge_embedding_loss");
TRAITS("torch_hinge_embedding_loss", .autocast = AutocastPolicy::float32,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, bool? size_average=None, "
   "bool? reduce=None, str reduction='mean')",
   [](const Bound& args) { return cosine_embedding_loss(args, with_legacy_flags); });
NAMES("cosine_embedding_loss", "Functional: cosine_embedding_loss");
TRAITS("cosine_embedding_loss", .autocast = AutocastPolicy::float32,
       .recorded_gradients = RecordedGradients::of_last_step);
OP("aten_cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, int reduction=1)",
   [](const Bound& args) { return cosine_embedding_loss(args, without_legacy_flags); });
NAMES("aten_cosine_embedding_loss", "Aten: cosine_embedding_loss");
TRAITS("aten_cosine_embedding_loss", .autocast = AutocastPolicy::float32,
       .recorded_gradients = RecordedGradients::of_last_step);
OP("torch_cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, int reduction=0)",
   [](const Bound& args) { return cosine_embedding_loss(args, without_legacy_flags); });
NAMES("torch_cosine_embedding_loss", "Torch: cosine_embedding_loss");
TRAITS("torch_cosine_embedding_loss", .autocast = AutocastPolicy::float32,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("x1"));
  const Var b = raised(args.var("x2"));
  // Frameworks store the raised lengths in the dtype of the call.
  const double least = as_stored(args.var("x1"), args.real("eps"));
  return raised.back(cosine_similarity(a, b, args.integer("dim"), least));
});
NAMES("cosine_similarity", "Functional: cosine_similarity; Torch: cosine_similarity; Aten: cosine_similarity");
TRAITS("cosine_similarity", .autocast = AutocastPolicy::float32, .recorded_gradients = RecordedGradients::of_last_step);

OP("triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, "
   "bool swap=False, bool? size_average=None, bool? reduce=None, str reduction='mean')",
   [](const Bound& args) { return triplet_margin_loss(args, with_legacy_flags); });
NAMES("triplet_margin_loss", "Functional: triplet_margin_loss");
TRAITS("triplet_margin_loss", .autocast = AutocastPolicy::float32, .ranks_all_in = asks_for_extreme_norm<4>,
       .recorded_gradients = RecordedGradients::of_last_step);
OP("aten_triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, "
   "float eps=1e-06, bool swap=False, int reduction=1)",
   [](const Bound& args) { return triplet_margin_loss(args, without_legacy_flags); });
NAMES("aten_triplet_margin_loss", "Aten: triplet_margin_loss");
TRAITS("aten_triplet_margin_loss", .autocast = AutocastPolicy::float32, .ranks_all_in = asks_for_extreme_norm<4>,
       .recorded_gradients = RecordedGradients::of_last_step);
OP("torch_triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, "
   "float eps=1e-06, bool swap=False, int reduction=0)",
   [](const Bound& args) { return triplet_margin_loss(args, without_legacy_flags); });
NAMES("torch_triplet_margin_loss", "Torch: triplet_margin_loss");
TRAITS("torch_triplet_margin_loss", .autocast = AutocastPolicy::float32, .ranks_all_in = asks_for_extreme_norm<4>,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("triplet_margin_with_distance_loss(Tensor anchor, Tensor positive, Tensor negative, *, any distance_function=None, "
   "float margin=1.0, bool swap=False, str reduction='mean')",
   [](const Bound& args) {
     if (args.given("distance_function")) throw SkipError("A dump does not hold the distance function.");
     return triplet_loss(args, without_legacy_flags, 2, 1e-6);
   });
NAMES("triplet_margin_with_distance_loss", "Functional: triplet_margin_with_distance_loss");
TRAITS("triplet_margin_with_distance_loss", .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace msrun
