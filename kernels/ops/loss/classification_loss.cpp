// Losses over classes: cross entropy with class indices or probabilities and negative log likelihood (api_inventory.md
// 3, loss).
//
// One kernel per loss walks the rows of [elements, classes]; the gradient is computed again from the input, so that no
// tensor of the input's size is kept.
#include <cmath>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/sums.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/fitting_numbers.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/loss/class_loss.h"

namespace msrun {
namespace {

// [N, C, d1...] as rows of classes, [N, d1..., C]; the classes of 1-d and 2-d inputs are last already.
Tensor classes_last(const Tensor& x) {
  if (x.rank() < 3 || x.numel() == 0) return x.contiguous();
  return exchange_axes(x, x.size(0), x.size(1), x.numel() / (x.size(0) * x.size(1)));
}

Tensor classes_back(const Tensor& rows, const Dims& shape) {
  if (shape.size() < 3 || rows.numel() == 0) return rows.reshape(shape);
  return exchange_axes(rows, shape[0], rows.numel() / (shape[0] * shape[1]), shape[1]).reshape(shape);
}

template <class T>
T weight_total(const std::vector<std::int64_t>& indices, const std::vector<T>& weights, const Summation& summation) {
  return row_sum<T>(static_cast<std::int64_t>(indices.size()), summation, [&](std::int64_t i) {
    const std::int64_t index = indices[static_cast<std::size_t>(i)];
    return index < 0 ? T{0} : weights[static_cast<std::size_t>(index)];
  });
}

// e^(x - largest x) in out, with their sum.
template <class T>
struct Exponentials {
  T largest = 0;
  T sum = 0;
  T log_sum() const { return largest + std::log(sum); }
};

template <class T>
Exponentials<T> exponentials(const T* x, std::int64_t count, const Summation& summation, T* out) {
  const T largest = row_max(x, count);
  for (std::int64_t c = 0; c < count; ++c) out[c] = exponential(x[c] - largest);
  return {largest, row_sum<T>(count, summation, [out](std::int64_t c) { return out[c]; })};
}

// What cross entropy needs to know about one row: -sum_c factor_c * log_softmax(x)_c, where the factors of class
// indices are a spike at the target on a smooth floor, and those of probabilities are weighted and smoothed targets.
struct CrossEntropy {
  Tensor x;       // as given
  Tensor weight;  // undefined: ones
  Tensor target;  // probabilities; undefined for class indices
  std::vector<std::int64_t> indices;
  double smoothing = 0;
  std::int64_t classes = 0;
  Dims element_shape;
  Summation summation;

  bool by_index() const { return !target.defined(); }

  template <class T>
  void factors(std::size_t row, const T* probabilities, const std::vector<T>& weights, T* out) const {
    const T floor = static_cast<T>(smoothing / static_cast<double>(classes));
    const T peak = static_cast<T>(1 - smoothing);
    if (by_index()) {  // without elements, probabilities are a null pointer, too
      for (std::int64_t c = 0; c < classes; ++c) out[c] = floor * weights[static_cast<std::size_t>(c)];
      const auto index = static_cast<std::size_t>(indices[row]);
      out[index] += peak * weights[index];
    } else {
      for (std::int64_t c = 0; c < classes; ++c)
        out[c] = weights[static_cast<std::size_t>(c)] * (probabilities[c] * peak + floor);
    }
  }

  template <class T>
  std::vector<T> losses(const std::vector<T>& weights, std::int64_t rows) const {
    RowReader<T> inputs(classes_last(x), RowLayout::plain(classes));
    RowReader<T> given(classes_last(by_index() ? x : target), RowLayout::plain(classes));
    std::vector<T> result(static_cast<std::size_t>(rows));
    std::vector<T> scratch(static_cast<std::size_t>(classes));
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto row = static_cast<std::size_t>(r);
      if (by_index() && indices[row] < 0) continue;
      const T* logits = inputs.read(r);
      const T normaliser = exponentials(logits, classes, summation, scratch.data()).log_sum();
      if (by_index() && smoothing == 0) {
        const auto index = static_cast<std::size_t>(indices[row]);
        result[row] = weights[index] * (normaliser - logits[index]);
        continue;
      }
      factors(row, by_index() ? nullptr : given.read(r), weights, scratch.data());
      const T* f = scratch.data();
      result[row] = row_sum<T>(classes, summation, [=](std::int64_t c) { return f[c] * (normaliser - logits[c]); });
    }
    return result;
  }

  // Gradients of the logits and, if asked for, of the probabilities.
  template <class T>
  std::vector<Tensor> backward(const Tensor& gradient, double scale, bool of_target) const {
    const Tensor input = classes_last(x);
    const Tensor given = classes_last(by_index() ? x : target);
    const Tensor g = element_gradients(gradient, element_shape, own_dtype<T>);
    const std::vector<T> weights = class_weights<T>(weight, classes);
    Tensor of_x(x.dtype(), input.shape());
    Tensor of_probabilities = of_target ? Tensor(target.dtype(), input.shape()) : of_x;
    const RowLayout layout = RowLayout::plain(classes);
    RowReader<T> inputs(input, layout);
    RowReader<T> targets(given, layout);
    RowWriter<T> of_inputs(of_x, layout);
    RowWriter<T> of_targets(of_probabilities, layout);
    std::vector<T> scratch(static_cast<std::size_t>(classes));
    for (std::int64_t r = 0; r < g.numel(); ++r) {
      const auto row = static_cast<std::size_t>(r);
      T* out = of_inputs.write(r);
      const T* logits = inputs.read(r);
      if (by_index() && indices[row] < 0) {
        // The gradient of the softmax for one of zeros: NaN where there is no softmax.
        const T none = T{0} / exponentials(logits, classes, summation, out).sum;
        for (std::int64_t c = 0; c < classes; ++c) out[c] *= none;
        of_inputs.store(r);
        continue;
      }
      const T upstream = g.data<T>()[r] * static_cast<T>(scale);
      const Exponentials<T> exponential = exponentials(logits, classes, summation, out);
      factors(row, by_index() ? nullptr : targets.read(r), weights, scratch.data());
      const T* f = scratch.data();
      const T total = row_sum<T>(classes, summation, [f](std::int64_t c) { return f[c]; });
      const T share = total / exponential.sum;
      for (std::int64_t c = 0; c < classes; ++c) out[c] = upstream * (share * out[c] - f[c]);
      of_inputs.store(r);
      if (!of_target) continue;
      T* to = of_targets.write(r);
      const T peak = static_cast<T>(1 - smoothing);
      const T normaliser = exponential.log_sum();
      for (std::int64_t c = 0; c < classes; ++c) {
        to[c] = upstream * peak * weights[static_cast<std::size_t>(c)] * (normaliser - logits[c]);
      }
      of_targets.store(r);
    }
    return {classes_back(of_x, x.shape()), of_target ? classes_back(of_probabilities, x.shape()) : Tensor{}};
  }
};

Var cross_entropy(const Bound& args, Reduction reduction) {
  const Var x = args.var("input");
  const Var target = args.var("target");
  CrossEntropy loss;
  loss.x = x.tensor();
  loss.classes = class_count(x);
  loss.element_shape = element_shape(x);
  loss.weight = checked_weight(args, loss.classes);
  loss.smoothing = args.real("label_smoothing");
  loss.summation = x.arithmetic().summation;
  if (!(loss.smoothing >= 0 && loss.smoothing <= 1)) throw SkipError("label_smoothing must be between 0.0 and 1.0.");
  const bool probabilities = is_floating(target.dtype());
  if (probabilities && target.shape() != x.shape()) {
    throw SkipError("Expected target probabilities of the shape of the input " + tuple_text(x.shape()) + ", but got " +
                    tuple_text(target.shape()) + ".");
  }
  if (probabilities) {
    loss.target = target.tensor();
  } else {
    loss.indices = class_indices(x, target.tensor(), args.integer("ignore_index"));
  }
  const std::int64_t rows = element_count(loss.element_shape);
  x.context().note_sums(loss.classes, rows, SumForm::rows);
  x.context().note_sums(rows, 1, SumForm::rows);
  const Summary summary = visit_compute(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const std::vector<T> weights = class_weights<T>(loss.weight, loss.classes);
    double denominator = probabilities ? static_cast<double>(x.rank() == 1 ? 1 : rows)
                                       : static_cast<double>(weight_total(loss.indices, weights, loss.summation));
    // torch divides the loss of the targets and that of all classes, and of weights that are 0 the first is 0 / 0.
    if (denominator == 0 && loss.smoothing > 0) denominator = std::numeric_limits<double>::quiet_NaN();
    return summarise<T>(loss.losses(weights, rows), loss.element_shape, reduction, denominator, x.dtype(),
                        loss.summation);
  });
  const bool of_target = probabilities && target.requires_grad();
  return x.tape().record(
      summary.result, {x, target}, [loss = std::move(loss), scale = summary.scale, of_target](const Tensor& g) {
        return visit_compute(loss.x.dtype(),
                             [&](auto element) { return loss.backward<decltype(element)>(g, scale, of_target); });
      });
}

// x holds log-probabilities: the loss picks one of each row. Strides of the class axis instead of a transposed copy.
struct Picked {
  Var loss;
  double total_weight = 0;
};

Picked negative_log_likelihood(const Bound& args, Reduction reduction) {
  const Var x = args.var("input");
  const std::int64_t classes = class_count(x);
  const Tensor weight = checked_weight(args, classes);
  const Dims shape = element_shape(x);
  const std::vector<std::int64_t> indices = class_indices(x, args.var("target").tensor(), args.integer("ignore_index"));
  const Summation summation = x.arithmetic().summation;
  const auto elements = static_cast<std::int64_t>(indices.size());
  const std::int64_t samples = x.rank() == 1 ? 1 : x.size(0);
  const std::int64_t space = elements == 0 ? 1 : elements / samples;
  // Position of an element's class in the row-major input.
  const auto position = [classes, space](std::int64_t element, std::int64_t index) {
    return (element / space * classes + index) * space + element % space;
  };
  x.context().note_sums(elements, 1, SumForm::rows);
  double total_weight = 0;
  const Summary summary = visit_compute(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const std::vector<T> weights = class_weights<T>(weight, classes);
    const Tensor input = to_compute(x.tensor());
    std::vector<T> losses(indices.size());
    for (std::int64_t e = 0; e < elements; ++e) {
      const std::int64_t index = indices[static_cast<std::size_t>(e)];
      if (index >= 0)
        losses[static_cast<std::size_t>(e)] =
            -weights[static_cast<std::size_t>(index)] * input.data<T>()[position(e, index)];
    }
    total_weight = static_cast<double>(weight_total(indices, weights, summation));
    return summarise<T>(losses, shape, reduction, total_weight, x.dtype(), summation);
  });
  const Var loss = x.tape().record(
      summary.result, {{x, [=, x_shape = x.shape(), dtype = x.dtype(), scale = summary.scale](const Tensor& gradient) {
                          const DType wide = compute_dtype(dtype);
                          Tensor result = Tensor::zeros(wide, x_shape);
                          const Tensor g = element_gradients(gradient, shape, wide);
                          visit_compute(wide, [&](auto element) {
                            using T = decltype(element);
                            const std::vector<T> weights = class_weights<T>(weight, classes);
                            for (std::int64_t e = 0; e < elements; ++e) {
                              const std::int64_t index = indices[static_cast<std::size_t>(e)];
                              if (index < 0) continue;
                              result.mutable_data<T>()[position(e, index)] =
                                  -weights[static_cast<std::size_t>(index)] * g.data<T>()[e] * static_cast<T>(scale);
                            }
                          });
                          return result;
                        }}});
  return {loss, total_weight};
}

// aten's nll_loss_forward also returns the sum of weights, 0 without reduction.
Value likelihood_with_weight(const Bound& args) {
  const Reduction reduction = reduction_of(args, false);
  const Picked picked = negative_log_likelihood(args, reduction);
  return List{picked.loss, args.tape().constant(Tensor::scalar(
                               picked.loss.dtype(), reduction == Reduction::none ? 0 : picked.total_weight))};
}

// Random class indices must not hit ignore_index, which is negative unless a call says otherwise.
void adapt_class_indices(List& args, Dict& kwargs) {
  const auto named = std::ranges::find(kwargs, "target", [](const auto& entry) { return entry.first; });
  if (args.size() < 2 && named == kwargs.end()) return;
  Value& place = args.size() > 1 ? args[1] : named->second;
  const TensorSpec* target = recorded_tensor(place);
  if (target == nullptr || !target->min || *target->min > 0) return;
  auto changed = std::make_shared<TensorSpec>(*target);
  changed->min = 0;
  place = std::shared_ptr<const TensorSpec>(std::move(changed));
}

// Random class indices lie between their recorded extrema, of which one is ignore_index where some were ignored. What
// lies between that and the classes becomes a class, and every fourth one is ignored: the first, where they are few. So
// is every fourth one where a class is ignored, which is hardly ever drawn among many.
void fit_class_indices(DrawnCall& call) {
  const Tensor* x = call.tensor(0, "input");
  const Tensor* target = call.drawn(1, "target");
  if (x == nullptr || x->rank() == 0 || target == nullptr) return;
  const std::int64_t classes = x->rank() == 1 ? x->size(0) : x->size(1);
  if (!is_integer(target->dtype()) || classes == 0) return;
  const Value* given = call.made(4, "ignore_index");
  const auto* number = given == nullptr ? nullptr : given->get<std::int64_t>();
  const std::int64_t ignored = number == nullptr ? -100 : *number;
  const bool is_class = ignored >= 0 && ignored < classes;
  const TensorSpec& spec = *recorded_tensor(*call.recorded(1, "target"));
  const auto is_ignored = [&](const std::optional<double>& extremum) {
    return extremum && *extremum == static_cast<double>(ignored);
  };
  if (is_class) return draw_number(call, 1, "target", static_cast<double>(ignored));
  if (!is_ignored(spec.min) && !is_ignored(spec.max)) return;
  const bool all = is_ignored(spec.min) && is_ignored(spec.max);
  Tensor fitted = target->to(DType::int64).clone();
  auto* index = fitted.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < fitted.numel(); ++i) {
    const std::int64_t rest = index[i] % classes;
    index[i] = all || i % 4 == 0 ? ignored : rest < 0 ? rest + classes : rest;
  }
  *call.made(1, "target") = fitted.to(target->dtype());
}

}  // namespace

OP("cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, "
   "bool? reduce=None, str reduction='mean', float label_smoothing=0.0)",
   [](const Bound& args) -> Value { return cross_entropy(args, reduction_of(args, true)); });
NAMES("cross_entropy", "Functional: cross_entropy; MintFunctional: cross_entropy");
TRAITS("cross_entropy", .autocast = AutocastPolicy::float32, .varies = Varies::results, .adapt = adapt_class_indices,
       .fit = fit_class_indices, .converts = DTypeChange{DType::int32, DType::int64}, .element_work = 2.3,
       .recorded_gradients = RecordedGradients::of_last_step);

// The fused operator also returns the logarithms of the probabilities, which its backward starts from, and two results
// of the z-loss, which it does not compute.
OP("npu_cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', "
   "int ignore_index=-100, float label_smoothing=0.0, float lse_square_scale_for_zloss=0.0, bool return_zloss=False)",
   [](const Bound& args) -> Value {
     const Var x = args.var("input");
     if (x.rank() != 2) throw SkipError("npu_cross_entropy_loss needs an input of 2 dimensions.");
     if (args.flag("return_zloss") || args.real("lse_square_scale_for_zloss") != 0) {
       throw SkipError("npu_cross_entropy_loss is not checked with a z-loss.");
     }
     const Reduction reduction = reduction_of(args, false);
     const Var loss = cross_entropy(args, reduction);
     return List{reduction == Reduction::none ? loss : reshape(loss, {1}), log_softmax(x, 1), None{}, None{}};
   });
NAMES("npu_cross_entropy_loss", "NPU: npu_cross_entropy_loss");
TRAITS("npu_cross_entropy_loss", .varies = Varies::results, .compared_output = 0, .differentiable_output = 0,
       .adapt = adapt_class_indices, .fit = fit_class_indices, .element_work = 3);

OP("cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, "
   "float label_smoothing=0.0)",
   [](const Bound& args) -> Value { return cross_entropy(args, reduction_of(args, false)); });
NAMES("cross_entropy_loss", "Aten: cross_entropy_loss");
TRAITS("cross_entropy_loss", .varies = Varies::results, .fit = fit_class_indices);

OP("nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, "
   "bool? reduce=None, str reduction='mean')",
   [](const Bound& args) -> Value { return negative_log_likelihood(args, reduction_of(args, true)).loss; });
NAMES("nll_loss", "Functional: nll_loss; MintFunctional: nll_loss");
TRAITS("nll_loss", .autocast = AutocastPolicy::float32, .varies = Varies::results, .fit = fit_class_indices);

OP("aten_nll_loss(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)",
   [](const Bound& args) -> Value { return negative_log_likelihood(args, reduction_of(args, false)).loss; });
NAMES("aten_nll_loss", "Aten: nll_loss nll_loss_nd nll_loss2d");
TRAITS("aten_nll_loss", .varies = Varies::results, .fit = fit_class_indices);

OP("nll_loss_forward(Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index)",
   [](const Bound& args) -> Value { return likelihood_with_weight(args); });
NAMES("nll_loss_forward", "Aten: nll_loss_forward nll_loss2d_forward");
TRAITS("nll_loss_forward", .varies = Varies::results, .fit = fit_class_indices);

}  // namespace msrun
