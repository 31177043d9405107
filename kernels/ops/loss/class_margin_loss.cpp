// Losses with a margin between classes: of one class, and of several, for each sample (api_inventory.md 3, loss).
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/loss/class_loss.h"

namespace msrun {
namespace {

// The losses of rows and their gradients in one walk. row(x, index of the row, out)
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
    if (index != -1) require_class(index, classes);
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

}  // namespace

OP("multi_margin_loss(Tensor input, Tensor target, Scalar p=1, float margin=1.0, Tensor? weight=None, "
   "bool? size_average=None, bool? reduce=None, str reduction='mean')",
   [](const Bound& args) { return multi_margin_loss(args, true); });
NAMES("multi_margin_loss", "Functional: multi_margin_loss");
TRY_FIRST("multi_margin_loss", Trial::of_sizes);
TRAITS("multi_margin_loss", .autocast = AutocastPolicy::float32);

OP("aten_multi_margin_loss(Tensor input, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
   "reduction=1)",
   [](const Bound& args) { return multi_margin_loss(args, false); });
NAMES("aten_multi_margin_loss", "Aten: multi_margin_loss");
TRY_FIRST("aten_multi_margin_loss", Trial::of_sizes);

OP("multilabel_margin_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, "
   "str reduction='mean')",
   [](const Bound& args) { return multilabel_margin_loss(args, true); });
NAMES("multilabel_margin_loss", "Functional: multilabel_margin_loss");
TRAITS("multilabel_margin_loss", .autocast = AutocastPolicy::float32);

OP("aten_multilabel_margin_loss(Tensor input, Tensor target, int reduction=1)",
   [](const Bound& args) { return multilabel_margin_loss(args, false); });
NAMES("aten_multilabel_margin_loss", "Aten: multilabel_margin_loss");

}  // namespace msrun
