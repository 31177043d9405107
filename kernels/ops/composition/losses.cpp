// The last steps of losses: the mean or sum over the elements' losses, or what gives these where they are not reduced.
#include <algorithm>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/composition/steps.h"
#include "kernels/ops/loss/loss.h"

namespace msrun {
namespace {

// losses is the shape of the elements' losses; unreduced gives the step without reduction.
template <class F>
LastSteps reduction_steps(const ComposedCall& call, bool legacy_flags, const Dims& losses, const F& unreduced) {
  const Reduction reduction = reduction_of(call.args, legacy_flags);
  if (reduction == Reduction::none) return {{unreduced()}};
  if (reduction == Reduction::batchmean) {
    return {{scaling_step(call.output,
                          1 / static_cast<double>(std::max<std::int64_t>(losses.empty() ? 1 : losses[0], 1)))}};
  }
  return {{step_of({any_values(call, losses)}, [reduction](const auto& in) { return reduced(in[0], reduction); })}};
}

Dims common_shape(const ComposedCall& call, const char* first, const char* second) {
  return broadcast_shapes(call.var(first).shape(), call.var(second).shape());
}

template <bool legacy_flags>
LastSteps l1_steps(const ComposedCall& call) {
  // A weighted mean is a sum divided by another one.
  if (call.tensors > 2) return {};
  const Dims shape = common_shape(call, "input", "target");
  return reduction_steps(call, legacy_flags, shape, [&] {
    return step_of({sub(call.var("input"), call.var("target"))}, [](const auto& in) { return abs(in[0]); });
  });
}
LAST_STEPS("l1_loss", l1_steps<with_legacy_flags>);
LAST_STEPS("aten_l1_loss", l1_steps<without_legacy_flags>);

template <bool legacy_flags>
LastSteps kl_div_steps(const ComposedCall& call) {
  const Dims shape = common_shape(call, "input", "target");
  return reduction_steps(call, legacy_flags, shape, [&] {
    const Var target = call.var("target");
    const Var input = call.var("input");
    if (call.args.flag("log_target")) {
      return step_of({exp(target), sub(target, input)}, [](const auto& in) { return mul(in[0], in[1]); });
    }
    return step_of({mul(target, target), mul(target, input)}, [](const auto& in) { return sub(in[0], in[1]); });
  });
}
LAST_STEPS("kl_div", kl_div_steps<with_legacy_flags>);
LAST_STEPS("aten_kl_div", kl_div_steps<without_legacy_flags>);

// Unreduced: a difference, to which Stirling's formula of the target is added.
template <bool legacy_flags>
LastSteps poisson_steps(const ComposedCall& call) {
  const Dims shape = common_shape(call, "input", "target");
  return reduction_steps(call, legacy_flags, shape, [&] {
    const Var target = call.var("target");
    const Var input = call.var("input");
    if (call.args.flag("full")) {
      return step_of({mul(input, target), target}, [](const auto& in) { return add(in[0], in[1]); });
    }
    return step_of({input, mul(target, input)}, [](const auto& in) { return sub(in[0], in[1]); });
  });
}
LAST_STEPS("poisson_nll_loss", poisson_steps<with_legacy_flags>);
LAST_STEPS("aten_poisson_nll_loss", poisson_steps<without_legacy_flags>);

// Unreduced: a half of the sum, or the constant that is added to it.
LastSteps gaussian_steps(const ComposedCall& call) {
  return reduction_steps(call, without_legacy_flags, common_shape(call, "input", "target"),
                         [&] { return scaling_step(call.output, call.args.flag("full") ? 1 : 0.5); });
}
LAST_STEPS("gaussian_nll_loss", gaussian_steps);

// The mean over the classes, by a division.
LastSteps multilabel_soft_margin_steps(const ComposedCall& call) {
  Dims samples = call.var("input").shape();
  const double classes = samples.empty() ? 1 : static_cast<double>(std::max<std::int64_t>(samples.back(), 1));
  if (!samples.empty()) samples.pop_back();
  return reduction_steps(call, with_legacy_flags, samples, [&] { return scaling_step(call.output, 1 / classes); });
}
LAST_STEPS("multilabel_soft_margin_loss", multilabel_soft_margin_steps);

// max(x, 0): the gradient passes where the result is not below 0.
LastStep positive_part_step(const Var& before) {
  return step_of({before}, [](const auto& in) { return clamp(in[0], 0, std::nullopt); });
}

template <bool legacy_flags>
LastSteps margin_ranking_steps(const ComposedCall& call) {
  const Dims shape = broadcast_shapes(common_shape(call, "input1", "input2"), call.var("target").shape());
  return reduction_steps(call, legacy_flags, shape, [&] {
    const Var difference = sub(call.var("input1"), call.var("input2"));
    return positive_part_step(add(mul(neg(call.var("target")), difference), call.args.real("margin")));
  });
}
LAST_STEPS("margin_ranking_loss", margin_ranking_steps<with_legacy_flags>);
LAST_STEPS("aten_margin_ranking_loss", margin_ranking_steps<without_legacy_flags>);

// The losses of the two kinds of targets, added.
template <bool legacy_flags>
LastSteps hinge_embedding_steps(const ComposedCall& call) {
  return reduction_steps(call, legacy_flags, common_shape(call, "input", "target"),
                         [&] { return addition_step(call.output); });
}
LAST_STEPS("hinge_embedding_loss", hinge_embedding_steps<with_legacy_flags>);
LAST_STEPS("aten_hinge_embedding_loss", hinge_embedding_steps<without_legacy_flags>);

template <bool legacy_flags>
LastSteps cosine_embedding_steps(const ComposedCall& call) {
  return reduction_steps(call, legacy_flags, call.var("target").shape(), [&] { return addition_step(call.output); });
}
LAST_STEPS("cosine_embedding_loss", cosine_embedding_steps<with_legacy_flags>);
LAST_STEPS("aten_cosine_embedding_loss", cosine_embedding_steps<without_legacy_flags>);

struct DistanceOptions {
  double p = 2;
  double epsilon = 1e-6;
};

LastSteps triplet_steps_with(const ComposedCall& call, bool legacy_flags, const DistanceOptions& options) {
  Dims shape = broadcast_shapes(common_shape(call, "anchor", "positive"), call.var("negative").shape());
  if (!shape.empty()) shape.pop_back();
  return reduction_steps(call, legacy_flags, shape, [&] {
    const auto distance = [&](const Var& a, const Var& b) {
      return vector_norm(add(sub(a, b), options.epsilon), options.p, Dims{-1}, false);
    };
    Var far = distance(call.var("anchor"), call.var("negative"));
    if (call.args.flag("swap")) far = minimum(far, distance(call.var("positive"), call.var("negative")));
    const Var near = distance(call.var("anchor"), call.var("positive"));
    return positive_part_step(add(sub(near, far), call.args.real("margin")));
  });
}

template <bool legacy_flags>
LastSteps triplet_steps(const ComposedCall& call) {
  return triplet_steps_with(call, legacy_flags, {call.args.real("p"), call.args.real("eps")});
}
LastSteps triplet_steps_with_usual_distance(const ComposedCall& call) {
  return triplet_steps_with(call, without_legacy_flags, {});
}
LAST_STEPS("triplet_margin_loss", triplet_steps<with_legacy_flags>);
LAST_STEPS("aten_triplet_margin_loss", triplet_steps<without_legacy_flags>);
LAST_STEPS("triplet_margin_with_distance_loss", triplet_steps_with_usual_distance);

// The sum of the products of the unit vectors; of older versions, the product divided by the lengths.
LastSteps cosine_similarity_steps(const ComposedCall& call) {
  Raised raised;
  const Var x = raised(call.var("x1"));
  const Var y = raised(call.var("x2"));
  const Dims axes{call.args.integer("dim")};
  const double least = call.args.real("eps") * call.args.real("eps");
  const auto total = [&](const Var& a, const Var& b) { return sum(mul(a, b), axes, false); };
  return {{step_of({any_values(call, broadcast_shapes(x.shape(), y.shape()))},
                   [&](const auto& in) { return sum(in[0], axes, false); }),
           step_of({total(x, y), sqrt(clamp(mul(total(x, x), total(y, y)), least, std::nullopt))},
                   [](const auto& in) { return div(in[0], in[1]); })}};
}
LAST_STEPS("cosine_similarity", cosine_similarity_steps);

// The mean or sum over the samples; without it, where infinities are replaced, a choice.
LastSteps ctc_steps(const ComposedCall& call) {
  const Var x = call.var("log_probs");
  const Dims samples{x.rank() == 3 ? x.size(1) : 1};
  return reduction_steps(call, without_legacy_flags, samples, [&] { return viewing_step(call.output); });
}
LAST_STEPS("ctc_loss", ctc_steps);

// The loss picks among logarithms of probabilities, of which there are axes for the sample, the class and one or two
// more.
LAST_STEPS("nll_loss", [](const ComposedCall& call) -> LastSteps {
  return {{whole_call(call.output), viewing_step(call.output)}};
});

const char* word_of(Reduction reduction) {
  return reduction == Reduction::none ? "none" : reduction == Reduction::sum ? "sum" : "mean";
}

const Operator& likelihood() {
  static const Operator& found = *find_canonical("nll_loss");
  return found;
}

template <bool legacy_flags>
LastSteps cross_entropy_steps(const ComposedCall& call) {
  const Reduction reduction = reduction_of(call.args, legacy_flags);
  const Var x = call.var("input");
  const Var target = call.var("target");
  const std::int64_t axis = x.rank() > 1 ? 1 : 0;
  if (is_floating(target.dtype())) {
    const double rows = static_cast<double>(std::max<std::int64_t>(x.numel(), 1)) /
                        static_cast<double>(std::max<std::int64_t>(x.size(axis), 1));
    return {{reduction == Reduction::mean ? scaling_step(call.output, 1 / rows) : negation_step(call.output)}};
  }
  if (call.args.real("label_smoothing") > 0) return {{addition_step(call.output)}};
  LastSteps steps{{step_of({log_softmax(x, axis)}, [&](const auto& in) {
    const Dict kwargs{{"weight", call.args.value("weight")},
                      {"ignore_index", call.args.value("ignore_index")},
                      {"reduction", std::string(word_of(reduction))}};
    return *likelihood().call({in[0], target}, kwargs, call.args.tape()).template get<Var>();
  })}};
  if (reduction == Reduction::none) steps.known.push_back(viewing_step(call.output));
  return steps;
}
LAST_STEPS("cross_entropy", cross_entropy_steps<with_legacy_flags>);
LAST_STEPS("cross_entropy_loss", cross_entropy_steps<without_legacy_flags>);

}  // namespace
}  // namespace msrun
