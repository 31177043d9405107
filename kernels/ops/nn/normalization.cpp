// Normalisation by mean and variance: layer, group, instance and batch norm, and rms norm, which are one kernel over
// different rows (api_inventory.md 3, normalisation).
//
// Layer norm has a row per position and space 1, group and instance norm a row per sample and group, batch norm a row
// per channel, whose parts lie a sample apart (row_normalization.h).
#include <cmath>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/row_normalization.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/sums.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/common/requirements.h"

namespace msrun {
namespace {

struct Normalised {
  Var y;
  Tensor mean;  // [rows], in the compute dtype
  Tensor rstd;
};

// In which dtype a norm's kernels form it and hold its statistics. Those of layer norm and batch norm hold them wide
// whatever the dtype of the tensor; group norm's store them in that of its parameters, and rms norm may be composed.
DType norm_dtype(const EvaluationContext& context, DType dtype, const NormLayout& layout) {
  const bool holds_wide = layout.statistics != NormStatistics::mean_square && !layout.gradients_from_sums;
  return compute_dtype(holds_wide ? context.held_dtype(dtype) : dtype);
}

// Terms of the sums behind the statistics of a row, and behind what its gradient subtracts; given ones are none.
std::int64_t terms_of_rows(const NormLayout& layout) {
  return layout.statistics == NormStatistics::given ? 1 : layout.row_length();
}

// Behind the gradient of a parameter: the elements of its channel in every row that shares it.
std::int64_t terms_of_parameters(const NormLayout& layout) {
  return layout.groups == 0 ? 0 : layout.rows / layout.groups * layout.space;
}

Normalised normalise(const Var& x, const std::optional<Var>& weight, const std::optional<Var>& bias, NormLayout layout,
                     const Tensor& mean = {}, const Tensor& rstd = {}) {
  layout.jitter_seed = x.context().jitter_seed;
  layout.wide_variance = x.context().recorded_dtype(x.dtype()) != x.dtype();
  const DType wide = norm_dtype(x.context(), x.dtype(), layout);
  const auto prepare = [wide](const Tensor& tensor) {
    return tensor.defined() ? tensor.to(wide).contiguous() : tensor;
  };
  // Rows are read in their own dtype, but where they are formed in a wider one than is usual for it.
  const auto prepare_rows = [wide, usual = compute_dtype(x.dtype())](const Tensor& tensor) {
    return (wide == usual ? tensor : tensor.to(wide)).contiguous();
  };
  NormOperands operands{prepare_rows(x.tensor()), prepare(weight ? weight->tensor() : Tensor{}),
                        prepare(bias ? bias->tensor() : Tensor{}), prepare(mean), prepare(rstd)};
  const Tensor y = normalise_rows(operands, layout).to(x.dtype());
  x.context().note_sums(terms_of_rows(layout), layout.rows, SumForm::rows);
  operands.bias = {};
  const auto vjp = [=, &context = x.context(), dtype = x.dtype(), weight_shape = weight ? weight->shape() : Dims{},
                    bias_shape = bias ? bias->shape() : Dims{}](const Tensor& gradient) {
    const bool parameters = (weight && weight->requires_grad()) || (bias && bias->requires_grad());
    context.note_sums(terms_of_rows(layout), layout.rows, SumForm::rows);
    if (parameters) context.note_sums(terms_of_parameters(layout), layout.parameters());
    const NormGradients all = normalise_rows_backward(operands, prepare_rows(gradient), layout, parameters);
    std::vector<Tensor> result{all.x.to(dtype), {}, {}};
    if (weight && parameters) result[1] = all.weight.reshape(weight_shape);
    if (bias && parameters) result[2] = all.bias.reshape(bias_shape);
    return result;
  };
  const DType of_statistics = compute_dtype(x.dtype());
  return {x.tape().record(y, {x, weight.value_or(Var{}), bias.value_or(Var{})}, vjp), operands.mean.to(of_statistics),
          operands.rstd.to(of_statistics)};
}

void require_count(const std::optional<Var>& parameter, std::int64_t count, const char* what) {
  if (parameter && parameter->numel() != count) {
    throw SkipError("Expected " + std::string(what) + " to have " + std::to_string(count) +
                    " elements, but it has shape " + tuple_text(parameter->shape()) + ".");
  }
}

NormLayout trailing_layout(const Var& x, const Dims& normalized_shape, const std::optional<Var>& weight,
                           const std::optional<Var>& bias, double epsilon) {
  require_floating(x, "Normalisation");
  require_bounded(x.shape());
  const std::size_t count = normalized_shape.size();
  const Dims& shape = x.shape();
  if (count == 0 || count > shape.size() ||
      !std::equal(normalized_shape.begin(), normalized_shape.end(), shape.end() - static_cast<std::ptrdiff_t>(count))) {
    throw SkipError("Given normalized_shape=" + tuple_text(normalized_shape) + ", the input of shape " +
                    tuple_text(shape) + " does not end in it.");
  }
  for (const auto& parameter : {weight, bias}) {
    if (parameter && parameter->shape() != normalized_shape) {
      throw SkipError("Expected weight and bias of the shape normalized_shape=" + tuple_text(normalized_shape) +
                      ", but got " + tuple_text(parameter->shape()) + ".");
    }
  }
  NormLayout layout;
  layout.channels = element_count(normalized_shape);
  layout.rows = layout.channels == 0 ? 0 : x.numel() / layout.channels;
  layout.epsilon = epsilon;
  layout.summation = x.arithmetic().summation;
  layout.memory = RowLayout::plain(layout.row_length());
  return layout;
}

Normalised layer_norm(const Bound& args) {
  const Var x = args.var("input");
  const auto weight = args.optional_var("weight");
  const auto bias = args.optional_var("bias");
  return normalise(x, weight, bias, trailing_layout(x, args.ints("normalized_shape"), weight, bias, args.real("eps")));
}

Normalised group_norm(const Var& x, std::int64_t groups, const std::optional<Var>& weight,
                      const std::optional<Var>& bias, double epsilon, bool gradients_from_sums = true) {
  require_floating(x, "group_norm");
  require_bounded(x.shape());
  if (x.rank() < 2)
    throw SkipError("Expected at least 2 dimensions for the input, but got shape " + tuple_text(x.shape()) + ".");
  const std::int64_t channels = x.size(1);
  if (groups < 1 || channels % groups != 0) {
    throw SkipError("Expected the number of channels (" + std::to_string(channels) +
                    ") to be divisible by num_groups (" + std::to_string(groups) + ").");
  }
  require_count(weight, channels, "weight");
  require_count(bias, channels, "bias");
  NormLayout layout;
  layout.groups = groups;
  layout.gradients_from_sums = gradients_from_sums;
  layout.flat_rows_are_zero = !gradients_from_sums;
  layout.channels = channels / groups;
  layout.rows = x.numel() == 0 ? 0 : x.size(0) * groups;
  layout.space = x.numel() == 0 ? 1 : x.numel() / (x.size(0) * channels);
  layout.epsilon = epsilon;
  layout.summation = x.arithmetic().summation;
  layout.memory = RowLayout::plain(layout.row_length());
  return normalise(x, weight, bias, layout);
}

// The statistics that normalise: those of the batch in training, else the running ones.
Normalised batch_norm(const Var& x, const std::optional<Var>& running_mean, const std::optional<Var>& running_var,
                      const std::optional<Var>& weight, const std::optional<Var>& bias, bool training, double epsilon) {
  require_floating(x, "batch_norm");
  require_bounded(x.shape());
  if (x.rank() == 1 && x.numel() == 0) {
    // Nothing to normalise: torch asks neither for channels nor for their statistics.
    const Var same = x.tape().record(x.tensor(), {{x, [](const Tensor& g) { return g; }}});
    return {same, Tensor(compute_dtype(x.dtype()), {0}), Tensor(compute_dtype(x.dtype()), {0})};
  }
  if (x.rank() < 2)
    throw SkipError("Expected at least 2 dimensions for the input, but got shape " + tuple_text(x.shape()) + ".");
  const std::int64_t channels = x.size(1);
  require_count(weight, channels, "weight");
  require_count(bias, channels, "bias");
  require_count(running_mean, channels, "running_mean");
  require_count(running_var, channels, "running_var");
  NormLayout layout;
  layout.rows = x.numel() == 0 ? 0 : channels;
  layout.groups = std::max<std::int64_t>(channels, 1);
  layout.space = x.numel() == 0 ? 1 : x.numel() / channels;
  layout.epsilon = epsilon;
  layout.summation = x.arithmetic().summation;
  if (x.numel() > 0) {
    const std::int64_t plane = layout.space / x.size(0);
    layout.memory = {layout.space, plane, plane, channels * plane};
  }
  layout.flat_rows_are_zero = training;
  if (training) return normalise(x, weight, bias, layout);
  if (!running_mean || !running_var)
    throw SkipError("Expected running_mean and running_var to be given when training=False.");
  layout.statistics = NormStatistics::given;
  const Tensor variance = to_compute(running_var->tensor().to(norm_dtype(x.context(), x.dtype(), layout)));
  Tensor rstd(variance.dtype(), variance.shape());
  bool is_infinite = false;
  visit_compute(variance.dtype(), [&](auto element) {
    using T = decltype(element);
    for (std::int64_t c = 0; c < channels; ++c) {
      const T result = T{1} / std::sqrt(variance.data<T>()[c] + static_cast<T>(epsilon));
      rstd.mutable_data<T>()[c] = result;
      is_infinite |= std::isinf(result);
    }
  });
  layout.scales_and_shifts = is_infinite && x.context().gives_alternative();
  return normalise(x, weight, bias, layout, running_mean->tensor(), rstd);
}

Normalised batch_norm(const Bound& args, const char* training) {
  return batch_norm(args.var("input"), args.optional_var("running_mean"), args.optional_var("running_var"),
                    args.optional_var("weight"), args.optional_var("bias"), args.flag(training), args.real("eps"));
}

Value instance_norm(const Bound& args) {
  if (!args.flag("use_input_stats")) return batch_norm(args, "use_input_stats").y;
  const Var x = args.var("input");
  if (x.rank() < 2)
    throw SkipError("Expected at least 2 dimensions for the input, but got shape " + tuple_text(x.shape()) + ".");
  if (x.numel() == x.size(0) * x.size(1)) {
    throw SkipError("Expected more than 1 spatial element when training, got input size " + tuple_text(x.shape()) +
                    ".");
  }
  // Frameworks have it of batch norm.
  return group_norm(x, x.size(1), args.optional_var("weight"), args.optional_var("bias"), args.real("eps"), false).y;
}

// (1 - momentum) * running + momentum * batch, with the unbiased variance.
List updated_running_statistics(const Bound& args, const Normalised& normalised) {
  const Var x = args.var("input");
  const double momentum = args.real("momentum");
  const double count = static_cast<double>(x.numel()) / static_cast<double>(std::max<std::int64_t>(x.size(1), 1));
  const auto update = [&](const char* name, auto batch_value) -> Value {
    const auto running = args.optional_var(name);
    if (!running) return None{};
    if (!args.flag("training")) return *running;
    Tensor result = running->tensor().to(DType::float64).clone();
    for (std::int64_t c = 0; c < result.numel(); ++c) {
      double& value = result.mutable_data<double>()[c];
      value = (1 - momentum) * value + momentum * batch_value(c);
    }
    return args.tape().constant(result.to(running->dtype()));
  };
  const Tensor mean = normalised.mean.to(DType::float64);
  const Tensor rstd = normalised.rstd.to(DType::float64);
  const double epsilon = args.real("eps");
  return {update("running_mean", [&](std::int64_t c) { return mean.data<double>()[c]; }),
          update("running_var", [&](std::int64_t c) {
            const double r = rstd.data<double>()[c];
            return (1 / (r * r) - epsilon) * count / (count - 1);
          })};
}

List with_statistics(const Bound& args, const Normalised& normalised, const Dims& shape) {
  return {normalised.y, args.tape().constant(normalised.mean.reshape(shape)),
          args.tape().constant(normalised.rstd.reshape(shape))};
}

// In evaluation the saved statistics are empty.
List native_batch_norm(const Bound& args, const Normalised& normalised) {
  if (args.flag("training")) return with_statistics(args, normalised, normalised.mean.shape());
  const Var empty = args.tape().constant(Tensor(normalised.mean.dtype(), {0}));
  return {normalised.y, empty, empty};
}

}  // namespace

OP("layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
   "bool cudnn_enable=True)",
   [](const Bound& args) -> Value { return layer_norm(args).y; });
NAMES("layer_norm",
      "Functional: layer_norm; Torch: layer_norm; Mint: layer_norm; MintFunctional: layer_norm; Aten: layer_norm");
TRAITS("layer_norm", .autocast = AutocastPolicy::float32, .element_work = 1.5);

OP("native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps)",
   [](const Bound& args) -> Value {
     Dims shape = args.var("input").shape();
     const Normalised normalised = layer_norm(args);
     for (std::size_t i = shape.size() - args.ints("normalized_shape").size(); i < shape.size(); ++i) shape[i] = 1;
     return with_statistics(args, normalised, shape);
   });
NAMES("native_layer_norm", "Torch: native_layer_norm; Aten: native_layer_norm");

// Without eps the operator takes the epsilon of its input's dtype; the raised benchmark must take the same.
void adapt_missing_epsilon(List& args, Dict& kwargs) {
  const TensorSpec* input = recorded_tensor(args, 0);
  const bool given =
      args.size() > 3 || std::ranges::any_of(kwargs, [](const auto& entry) { return entry.first == "eps"; });
  if (input == nullptr || given) return;
  kwargs.emplace_back("eps", epsilon(parse_dtype(input->dtype).value_or(DType::float32)));
}

OP("rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)",
   [](const Bound& args) -> Value {
     const Var x = args.var("input");
     const auto weight = args.optional_var("weight");
     NormLayout layout = trailing_layout(x, args.ints("normalized_shape"), weight, std::nullopt, rms_norm_eps(args, x));
     layout.statistics = NormStatistics::mean_square;
     return normalise(x, weight, std::nullopt, layout).y;
   });
NAMES("rms_norm", "Functional: rms_norm; Torch: rms_norm; Aten: rms_norm");
TRAITS("rms_norm", .adapt = adapt_missing_epsilon, .recorded_gradients = RecordedGradients::of_last_step);

OP("group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
   "bool cudnn_enabled=True)",
   [](const Bound& args) -> Value {
     return group_norm(args.var("input"), args.integer("num_groups"), args.optional_var("weight"),
                       args.optional_var("bias"), args.real("eps"))
         .y;
   });
NAMES("group_norm",
      "Functional: group_norm; Torch: group_norm; Mint: group_norm; MintFunctional: group_norm; Aten: group_norm");
TRAITS("group_norm", .autocast = AutocastPolicy::float32, .element_work = 1.5);

// The statistics of group norm's rows, through which torch differentiates, as it does not through those of its kin.
List differentiable_statistics(const Var& x, const Normalised& normalised, const Dims& shape) {
  const std::int64_t rows = normalised.mean.numel();
  const Dims column{rows, 1};
  const Tensor mean = normalised.mean.reshape(column);
  const Tensor rstd = normalised.rstd.reshape(column);
  const Tensor elements = x.tensor().reshape(Dims{rows, rows == 0 ? 0 : x.numel() / rows});
  const auto count = static_cast<double>(elements.size(1));
  const auto in_rows = [=, whole = x.shape()](const Tensor& g, auto slope) {
    return map(elements.dtype(), elements, mean, rstd, g.reshape(column), slope).reshape(whole);
  };
  const auto of_mean = [=](const Tensor& g) {
    return in_rows(g, [count](auto, auto, auto, auto v) { return v / static_cast<decltype(v)>(count); });
  };
  const auto of_rstd = [=](const Tensor& g) {
    return in_rows(g, [count](auto a, auto m, auto r, auto v) {
      return -v * r * r * r * (a - m) / static_cast<decltype(v)>(count);
    });
  };
  return {x.tape().record(mean.reshape(shape), {{x, of_mean}}), x.tape().record(rstd.reshape(shape), {{x, of_rstd}})};
}

OP("native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps)",
   [](const Bound& args) -> Value {
     const Var x = args.var("input");
     const std::int64_t samples = args.integer("N");
     const std::int64_t groups = args.integer("group");
     const Normalised normalised = group_norm(reshape(x, {samples, args.integer("C"), args.integer("HxW")}), groups,
                                              args.optional_var("weight"), args.optional_var("bias"), args.real("eps"));
     const Dims shape = normalised.mean.numel() == 0 ? Dims{0} : Dims{samples, groups};
     const List statistics = differentiable_statistics(x, normalised, shape);
     return List{reshape(normalised.y, x.shape()), statistics[0], statistics[1]};
   });
NAMES("native_group_norm", "Torch: native_group_norm; Aten: native_group_norm");

OP("batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, "
   "bool training=False, float momentum=0.1, float eps=1e-05)",
   [](const Bound& args) -> Value {
     const Var x = args.var("input");
     if (args.flag("training") && x.rank() >= 2 && x.numel() == x.size(1)) {
       throw SkipError("Expected more than 1 value per channel when training, got input size " + tuple_text(x.shape()) +
                       ".");
     }
     return batch_norm(args, "training").y;
   });
NAMES("batch_norm", "Functional: batch_norm; MintFunctional: batch_norm batch_norm_ex");
TRAITS("batch_norm", .element_work = 2);

OP("torch_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
   "bool training, float momentum=0.1, float eps=1e-05, bool cudnn_enabled=True)",
   [](const Bound& args) -> Value { return batch_norm(args, "training").y; });
NAMES("torch_batch_norm", "Torch: batch_norm; Mint: batch_norm; Aten: batch_norm");

OP("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
   "bool training, float momentum, float eps)",
   [](const Bound& args) -> Value { return native_batch_norm(args, batch_norm(args, "training")); });
// _native_batch_norm_legit.no_stats
OP("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps)",
   [](const Bound& args) -> Value {
     return native_batch_norm(args,
                              batch_norm(args.var("input"), std::nullopt, std::nullopt, args.optional_var("weight"),
                                         args.optional_var("bias"), args.flag("training"), args.real("eps")));
   });
NAMES("native_batch_norm", "Torch: native_batch_norm; Aten: native_batch_norm _native_batch_norm_legit");
TRY_FIRST("native_batch_norm", Trial::of_sizes);

OP("_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
   "Tensor running_var, float momentum, float eps)",
   [](const Bound& args) -> Value {
     const Normalised normalised =
         batch_norm(args.var("input"), args.var("running_mean"), args.var("running_var"), args.optional_var("weight"),
                    args.optional_var("bias"), false, args.real("eps"));
     const Var empty = args.tape().constant(Tensor(normalised.mean.dtype(), {0}));
     return List{normalised.y, empty, empty};
   });
NAMES("_native_batch_norm_legit_no_training", "Aten: _native_batch_norm_legit_no_training");
TRY_FIRST("_native_batch_norm_legit_no_training", Trial::of_sizes);

// Every device chooses an implementation by itself: the reserve is empty and the index 0, as where there is one only.
OP("_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
   "bool training, float momentum, float eps, bool cudnn_enabled)",
   [](const Bound& args) -> Value {
     List result = native_batch_norm(args, batch_norm(args, "training"));
     result.push_back(args.tape().constant(Tensor(DType::uint8, {0})));
     result.push_back(std::int64_t{0});
     return result;
   });
NAMES("_batch_norm_impl_index", "Torch: _batch_norm_impl_index");
TRY_FIRST("_batch_norm_impl_index", Trial::of_sizes);

// The running statistics that batch norm would write back are its last two outputs.
OP("_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
   "Tensor running_var, bool training, float momentum, float eps)",
   [](const Bound& args) -> Value {
     const Normalised normalised = batch_norm(args, "training");
     List result = native_batch_norm(args, normalised);
     for (const Value& updated : updated_running_statistics(args, normalised)) result.push_back(updated);
     return result;
   });
NAMES("_native_batch_norm_legit_functional", "Aten: _native_batch_norm_legit_functional");
TRY_FIRST("_native_batch_norm_legit_functional", Trial::of_sizes);

OP("instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, "
   "Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05)",
   [](const Bound& args) -> Value { return instance_norm(args); });
NAMES("instance_norm", "Functional: instance_norm");
TRAITS("instance_norm", .autocast = AutocastPolicy::float32, .recorded_gradients = RecordedGradients::of_last_step);

OP("torch_instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
   "bool use_input_stats, float momentum=0.1, float eps=1e-05, bool cudnn_enabled=True)",
   [](const Bound& args) -> Value { return instance_norm(args); });
NAMES("torch_instance_norm", "Torch: instance_norm; Aten: instance_norm");
TRAITS("torch_instance_norm", .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace msrun
