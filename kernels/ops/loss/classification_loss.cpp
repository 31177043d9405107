// Losses over classes: cross entropy with class indices or probabilities, negative log likelihood and the two margin
// losses (api_inventory.md 3, loss). The class axis is 1, or 0 for an input without batch axis.
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
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/loss/loss.h"

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

std::int64_t class_count(const Var& x) {
  if (x.rank() == 0) throw SkipError("The loss expects an input of at least one dimension.");
  if (!is_floating(x.dtype()))
    throw SkipError("The loss is not defined for inputs of dtype " + std::string(name(x.dtype())) + ".");
  require_bounded(x.shape());
  return x.rank() == 1 ? x.size(0) : x.size(1);
}

// The shape of a target of class indices.
Dims element_shape(const Var& x) {
  Dims shape = x.shape();
  shape.erase(shape.begin() + (x.rank() == 1 ? 0 : 1));
  return shape;
}

// Class index of every element, -1 where it is ignored. Throws SkipError for a class that does not exist.
std::vector<std::int64_t> class_indices(const Var& x, const Tensor& target, std::optional<std::int64_t> ignored) {
  if (target.shape() != element_shape(x)) {
    throw SkipError("Expected a target of shape " + tuple_text(element_shape(x)) + " for an input of shape " +
                    tuple_text(x.shape()) + ", but got " + tuple_text(target.shape()) + ".");
  }
  if (!is_integer(target.dtype()))
    throw SkipError("Expected a target of class indices, but its dtype is " + std::string(name(target.dtype())) + ".");
  const std::int64_t classes = class_count(x);
  const Tensor wide = target.to(DType::int64).contiguous();
  std::vector<std::int64_t> indices(wide.data<std::int64_t>(), wide.data<std::int64_t>() + wide.numel());
  for (std::int64_t& index : indices) {
    if (index == ignored) {
      index = -1;
    } else if (index < 0 || index >= classes) {
      throw SkipError("Target " + std::to_string(index) + " is out of bounds for " + std::to_string(classes) +
                      " classes.");
    }
  }
  return indices;
}

// Weight of every class, ones if there is no tensor.
template <class T>
std::vector<T> class_weights(const Tensor& weight, std::int64_t classes) {
  if (!weight.defined()) return std::vector<T>(static_cast<std::size_t>(classes), T{1});
  const Tensor wide = weight.to(std::is_same_v<T, double> ? DType::float64 : DType::float32).contiguous();
  return {wide.data<T>(), wide.data<T>() + classes};
}

Tensor checked_weight(const Bound& args, std::int64_t classes) {
  const auto weight = args.optional_var("weight");
  if (!weight) return {};
  if (weight->rank() != 1 || weight->size(0) != classes) {
    throw SkipError("weight tensor should be defined either for all " + std::to_string(classes) +
                    " classes or no classes but got weight tensor of shape " + tuple_text(weight->shape()) + ".");
  }
  return weight->tensor();
}

// The losses of all elements reduced, and what one unit of gradient of the result means for every element.
struct Summary {
  Tensor result;
  double scale = 1;  // of an element's gradient under mean
};

// denominator: what mean divides by.
template <class T>
Summary summarise(const std::vector<T>& losses, const Dims& shape, Reduction reduction, double denominator, DType dtype,
                  const Summation& summation) {
  constexpr DType wide = std::is_same_v<T, double> ? DType::float64 : DType::float32;
  if (reduction == Reduction::none) return {Tensor::from<T>(wide, shape, losses).to(dtype)};
  if (reduction == Reduction::batchmean) throw SkipError("batchmean is not a valid value for reduction");
  const T total = row_sum<T>(static_cast<std::int64_t>(losses.size()), summation,
                             [&](std::int64_t i) { return losses[static_cast<std::size_t>(i)]; });
  const bool average = reduction == Reduction::mean;
  const T result = average ? total / static_cast<T>(denominator) : total;
  return {Tensor::from<T>(wide, {}, std::span<const T>(&result, 1)).to(dtype), average ? 1 / denominator : 1};
}

// The gradient of the result as a row of factors, one per element: a view with stride 0 where the result is one number.
Tensor element_gradients(const Tensor& gradient, const Dims& shape, DType wide) {
  return gradient.to(wide).expand(shape).contiguous();
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
  note_sums(std::max(rows, loss.classes), loss.classes);
  const Summary summary = visit_compute(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const std::vector<T> weights = class_weights<T>(loss.weight, loss.classes);
    const double denominator = probabilities ? static_cast<double>(x.rank() == 1 ? 1 : rows)
                                             : static_cast<double>(weight_total(loss.indices, weights, loss.summation));
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
  const std::int64_t space = samples == 0 ? 0 : elements / samples;
  // Position of an element's class in the row-major input.
  const auto position = [classes, space](std::int64_t element, std::int64_t index) {
    return (element / space * classes + index) * space + element % space;
  };
  note_sums(elements, 1);
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

// Shared by the two margin losses: the losses of rows and their gradients in one walk. row(x, index of the row, out)
// returns the loss and adds its gradient to out, which is null in the forward pass.
template <class Row>
Var row_loss(const Var& x, std::int64_t classes, const Dims& shape, Reduction reduction, const Row& row) {
  const std::int64_t rows = element_count(shape);
  const Summary summary = visit_compute(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const Tensor input = to_compute(x.tensor());
    std::vector<T> losses(static_cast<std::size_t>(rows));
    for (std::int64_t r = 0; r < rows; ++r)
      losses[static_cast<std::size_t>(r)] = row(input.data<T>() + r * classes, r, static_cast<T*>(nullptr));
    return summarise<T>(losses, shape, reduction, static_cast<double>(rows), x.dtype(), x.arithmetic().summation);
  });
  return x.tape().record(summary.result, {{x, [=, x = x.tensor(), scale = summary.scale](const Tensor& gradient) {
                                             const Tensor input = to_compute(x);
                                             Tensor result = Tensor::zeros(input.dtype(), x.shape());
                                             const Tensor g = element_gradients(gradient, shape, input.dtype());
                                             visit_compute(input.dtype(), [&](auto element) {
                                               using T = decltype(element);
                                               for (std::int64_t r = 0; r < rows; ++r) {
                                                 T* out = result.mutable_data<T>() + r * classes;
                                                 row(input.data<T>() + r * classes, r, out);
                                                 const T upstream = g.data<T>()[r] * static_cast<T>(scale);
                                                 for (std::int64_t c = 0; c < classes; ++c) out[c] *= upstream;
                                               }
                                             });
                                             return result;
                                           }}});
}

Value multi_margin_loss(const Bound& args, bool legacy_flags) {
  const Var x = args.var("input");
  // A single number is one sample of one class, whose loss is 0.
  const std::int64_t classes = x.rank() == 0 ? 1 : class_count(x);
  if (x.rank() > 2 || !is_floating(x.dtype()))
    throw SkipError("multi_margin_loss expects a floating point input of at most two dimensions.");
  const double p = args.real("p");
  if (p != 1 && p != 2) throw SkipError("multi_margin_loss: p must be 1 or 2.");
  const Tensor weight = checked_weight(args, classes);
  const Var samples = x.rank() == 0 ? reshape(x, {1}) : x;
  const std::vector<std::int64_t> indices =
      class_indices(samples, args.var("target").tensor().reshape(element_shape(samples)), std::nullopt);
  // The losses have the shape of the target.
  const Dims shape = x.rank() == 2 ? Dims{x.size(0)} : args.var("target").rank() == 0 ? Dims{} : Dims{1};
  const std::vector<double> weights = class_weights<double>(weight, classes);
  const double margin = as_parameter(x, args.real("margin"));
  return row_loss(
      x, classes, shape, reduction_of(args, legacy_flags), [=](const auto* values, std::int64_t r, auto* out) {
        using T = std::remove_cvref_t<decltype(*values)>;
        const std::int64_t target = indices[static_cast<std::size_t>(r)];
        const T factor = static_cast<T>(weights[static_cast<std::size_t>(target)] / static_cast<double>(classes));
        T total = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
          const T z = static_cast<T>(margin) - values[target] + values[c];
          if (c == target || !(z > 0)) continue;
          total += p == 1 ? z : z * z;
          if (out == nullptr) continue;
          const T slope = factor * (p == 1 ? T{1} : 2 * z);
          out[c] += slope;
          out[target] -= slope;
        }
        return total * factor;
      });
}

// Targets of a row are listed from the front, ended by -1.
Value multilabel_margin_loss(const Bound& args, bool legacy_flags) {
  const Var x = args.var("input");
  const Tensor target = args.var("target").tensor().to(DType::int64).contiguous();
  if (x.rank() > 2 || target.shape() != x.shape() || !is_floating(x.dtype())) {
    throw SkipError("multilabel_margin_loss expects an input of one or two dimensions and a target of the same shape.");
  }
  require_bounded(x.shape());
  const std::int64_t classes = x.size(-1);
  for (std::int64_t i = 0; i < target.numel(); ++i) {
    const std::int64_t index = target.data<std::int64_t>()[i];
    if (index < -1 || index >= classes)
      throw SkipError("Target " + std::to_string(index) + " is out of bounds for " + std::to_string(classes) +
                      " classes.");
  }
  const Dims shape = x.rank() == 2 ? Dims{x.size(0)} : Dims{};
  return row_loss(x, classes, shape, reduction_of(args, legacy_flags),
                  [=](const auto* values, std::int64_t r, auto* out) {
                    using T = std::remove_cvref_t<decltype(*values)>;
                    const std::int64_t* listed = target.data<std::int64_t>() + r * classes;
                    std::vector<bool> is_target(static_cast<std::size_t>(classes));
                    std::int64_t count = 0;
                    for (; count < classes && listed[count] >= 0; ++count)
                      is_target[static_cast<std::size_t>(listed[count])] = true;
                    const T share = T{1} / static_cast<T>(classes);
                    T total = 0;
                    for (std::int64_t k = 0; k < count; ++k) {
                      for (std::int64_t c = 0; c < classes; ++c) {
                        const T z = 1 - values[listed[k]] + values[c];
                        if (is_target[static_cast<std::size_t>(c)] || !(z > 0)) continue;
                        total += z;
                        if (out == nullptr) continue;
                        out[c] += share;
                        out[listed[k]] -= share;
                      }
                    }
                    return total * share;
                  });
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

}  // namespace

OP("cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, "
   "bool? reduce=None, str reduction='mean', float label_smoothing=0.0)",
   [](const Bound& args) -> Value { return cross_entropy(args, reduction_of(args, true)); });
NAMES("cross_entropy", "Functional: cross_entropy; MintFunctional: cross_entropy");
TRAITS("cross_entropy", .autocast = AutocastPolicy::float32, .varies = Varies::results, .adapt = adapt_class_indices,
       .converts = DTypeChange{DType::int32, DType::int64}, .element_work = 2.3,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, "
   "float label_smoothing=0.0)",
   [](const Bound& args) -> Value { return cross_entropy(args, reduction_of(args, false)); });
NAMES("cross_entropy_loss", "Aten: cross_entropy_loss");
TRAITS("cross_entropy_loss", .varies = Varies::results);

OP("nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, "
   "bool? reduce=None, str reduction='mean')",
   [](const Bound& args) -> Value { return negative_log_likelihood(args, reduction_of(args, true)).loss; });
NAMES("nll_loss", "Functional: nll_loss; MintFunctional: nll_loss");
TRAITS("nll_loss", .autocast = AutocastPolicy::float32, .varies = Varies::results);

OP("aten_nll_loss(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)",
   [](const Bound& args) -> Value { return negative_log_likelihood(args, reduction_of(args, false)).loss; });
NAMES("aten_nll_loss", "Aten: nll_loss nll_loss_nd nll_loss2d");
TRAITS("aten_nll_loss", .varies = Varies::results);

OP("nll_loss_forward(Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index)",
   [](const Bound& args) -> Value { return likelihood_with_weight(args); });
NAMES("nll_loss_forward", "Aten: nll_loss_forward nll_loss2d_forward");
TRAITS("nll_loss_forward", .varies = Varies::results);

OP("multi_margin_loss(Tensor input, Tensor target, Scalar p=1, float margin=1.0, Tensor? weight=None, "
   "bool? size_average=None, bool? reduce=None, str reduction='mean')",
   [](const Bound& args) { return multi_margin_loss(args, true); });
NAMES("multi_margin_loss", "Functional: multi_margin_loss");
TRAITS("multi_margin_loss", .autocast = AutocastPolicy::float32);

OP("aten_multi_margin_loss(Tensor input, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
   "reduction=1)",
   [](const Bound& args) { return multi_margin_loss(args, false); });
NAMES("aten_multi_margin_loss", "Aten: multi_margin_loss");

OP("multilabel_margin_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, "
   "str reduction='mean')",
   [](const Bound& args) { return multilabel_margin_loss(args, true); });
NAMES("multilabel_margin_loss", "Functional: multilabel_margin_loss");
TRAITS("multilabel_margin_loss", .autocast = AutocastPolicy::float32);

OP("aten_multilabel_margin_loss(Tensor input, Tensor target, int reduction=1)",
   [](const Bound& args) { return multilabel_margin_loss(args, false); });
NAMES("aten_multilabel_margin_loss", "Aten: multilabel_margin_loss");

}  // namespace msrun
