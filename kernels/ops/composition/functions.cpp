// The last steps of activations, normalisations, poolings and distances.
#include <algorithm>
#include <numbers>

#include "kernels/ops/common/numbers.h"
#include "kernels/ops/composition/steps.h"

namespace msrun {
namespace {

LastStep quotient_step(const Var& numerator, const Var& denominator) {
  return step_of({numerator, denominator}, [](const auto& in) { return div(in[0], in[1]); });
}

LastStep product_step(const Var& a, const Var& b) {
  return step_of({a, b}, [](const auto& in) { return mul(in[0], in[1]); });
}

// The reciprocal of the divisor times the dividend.
LAST_STEPS("rdiv", [](const ComposedCall& call) -> LastSteps {
  return {{product_step(pow(call.var("input"), -1), call.var("other"))}};
});

// The arguments in the order of the operands.
LastSteps reversed_steps(const ComposedCall& call) { return {{{call.output, {call.var("other"), call.var("input")}}}}; }
// The base is copied, and has no gradient then.
LastSteps reversed_power_steps(const ComposedCall& call) {
  return {{{call.output, {call.var("other"), call.var("input")}}, {call.output, {call.var("input")}}}};
}
LAST_STEPS("rpow", reversed_power_steps, 1);
LAST_STEPS("rmod", reversed_steps);

// x * 2^other
LAST_STEPS("ldexp", [](const ComposedCall& call) -> LastSteps {
  return {{product_step(call.var("input"), exp(mul(call.var("other"), std::numbers::ln2)))}};
});

// A view of the quotient; what is cut off at -1 and 1, by which rounding decides.
LAST_STEPS("cov", viewing_steps);
LAST_STEPS("corrcoef", [](const ComposedCall& call) -> LastSteps { return {{viewing_step(call.output)}, 1}; });

// Each part is a slice of its own.
LastSteps first_part_steps(const ComposedCall& call) { return {{whole_call(call.output)}}; }
LAST_STEPS("tensor_split", first_part_steps);
LAST_STEPS("hsplit", first_part_steps);
LAST_STEPS("vsplit", first_part_steps);
LAST_STEPS("dsplit", first_part_steps);

// The columns, stacked.
LAST_STEPS("combinations", [](const ComposedCall& call) -> LastSteps {
  std::vector<Var> columns;
  for (std::int64_t i = 0; call.output.rank() == 2 && i < call.output.size(1); ++i) {
    columns.push_back(select(call.output, 1, i));
  }
  if (columns.empty()) return {{viewing_step(call.output)}};
  return {{step_of(columns, [](const auto& in) { return stack(in, 1); })}};
});

// x / (|x| + 1)
LAST_STEPS("softsign", [](const ComposedCall& call) -> LastSteps {
  const Var x = call.var("input");
  return {{quotient_step(x, add(abs(x), 1))}};
});

// x - tanh x
LAST_STEPS("tanhshrink", [](const ComposedCall& call) -> LastSteps { return {{subtraction_step(call.output)}}; });

// One operator, or minus the softplus of -x.
LAST_STEPS("logsigmoid", [](const ComposedCall& call) -> LastSteps { return {{negation_step(call.output)}}; });

// The softmax of -x; its derivative needs the result alone.
LAST_STEPS("softmin", [](const ComposedCall& call) -> LastSteps {
  const std::int64_t legacy = call.output.rank() == 0 || call.output.rank() == 1 || call.output.rank() == 3 ? 0 : 1;
  const Var x = cast(neg(call.var("input")), call.output.dtype());
  return {{step_of({x}, [axis = call.args.optional_integer("dim").value_or(legacy)](const auto& in) {
    return softmax(in[0], axis);
  })}};
});

// x / max(|x|, eps)
LAST_STEPS("normalize", [](const ComposedCall& call) -> LastSteps {
  const Var x = call.var("input");
  const Var length = vector_norm(x, call.args.real("p"), call.args.ints("dim"), true);
  return {{quotient_step(x, expand(clamp(length, call.args.real("eps"), std::nullopt), x.shape()))}};
});

// x / (k + alpha * average of the squares over a window of channels)^beta
LAST_STEPS("local_response_norm", [](const ComposedCall& call) -> LastSteps {
  const Var x = call.var("input");
  const std::int64_t size = std::max<std::int64_t>(call.args.integer("size"), 1);
  const std::int64_t channels = x.size(1);
  const auto zeros = [&](std::int64_t count) {
    Dims shape = x.shape();
    shape[1] = count;
    return call.args.tape().constant(Tensor::zeros(x.dtype(), shape));
  };
  const Var padded = cat({zeros(size / 2), square(x), zeros((size - 1) / 2)}, 1);
  Var total = slice(padded, 1, 0, channels);
  for (std::int64_t i = 1; i < size && i <= 2 * channels; ++i) total = add(total, slice(padded, 1, i, channels));
  const Var base = add(mul(total, call.args.real("alpha") / static_cast<double>(size)), call.args.real("k"));
  return {{quotient_step(x, pow(base, call.args.real("beta")))}};
});

// A batch norm over samples and channels alike, viewed.
LAST_STEPS("instance_norm", viewing_steps);
LAST_STEPS("torch_instance_norm", viewing_steps);

// The normalised input times the weight; without a weight, the input times the factor of its row; or a cast of these.
LAST_STEPS("rms_norm", [](const ComposedCall& call) -> LastSteps {
  const Var x = call.var("input");
  Dims axes;
  for (std::size_t i = 1; i <= call.args.ints("normalized_shape").size(); ++i)
    axes.push_back(-static_cast<std::int64_t>(i));
  const Var factor = rsqrt(add(mean(square(x), axes, true), rms_norm_eps(call.args, x)));
  const std::optional<Var> weight = call.args.optional_var("weight");
  return {{weight ? product_step(mul(x, factor), *weight) : product_step(x, factor), viewing_step(call.output)}};
});

// Poolings of one dimension are those of two, whose added axis is removed.
LAST_STEPS("max_pool1d", viewing_steps);
LAST_STEPS("adaptive_max_pool1d", viewing_steps);
LAST_STEPS("adaptive_max_pool1d_with_indices", viewing_steps);
LAST_STEPS("avg_pool1d", viewing_steps);
LAST_STEPS("adaptive_avg_pool1d", viewing_steps);

// The root of the sum of powers.
LastSteps power_pooling_steps(const ComposedCall& call) {
  const double p = call.args.real("norm_type");
  return {{step_of({pow(call.output, p)}, [p](const auto& in) { return pow(in[0], 1 / p); })}};
}
LAST_STEPS("lp_pool1d", power_pooling_steps);
LAST_STEPS("lp_pool2d", power_pooling_steps);
LAST_STEPS("lp_pool3d", power_pooling_steps);

// The norm of x1 - x2 + eps.
LAST_STEPS("pairwise_distance", [](const ComposedCall& call) -> LastSteps {
  const Var difference = add(sub(call.var("x1"), call.var("x2")), call.args.real("eps"));
  return {{step_of({difference}, [&](const auto& in) {
    return vector_norm(in[0], call.args.real("p"), Dims{-1}, call.args.flag("keepdim"));
  })}};
});

// One operator, which takes the weights of the samples in one row.
LAST_STEPS("embedding_bag", [](const ComposedCall& call) -> LastSteps { return {{whole_call(call.output)}}; });
LAST_STEPS("embedding_bag_with_offsets",
           [](const ComposedCall& call) -> LastSteps { return {{whole_call(call.output)}}; });

}  // namespace
}  // namespace msrun
