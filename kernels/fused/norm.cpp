// Fused normalisations (api_inventory.md 4.2, 4.10, 4.12 and 5).
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/sums.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

struct RmsNorm {
  Var y;
  Tensor rstd;  // in the compute dtype, size 1 in the normalised axes
};

template <class T>
void normalise_rows(const Tensor& x, const Tensor& gamma, double epsilon, const Summation& summation, Tensor& y,
                    Tensor& rstd) {
  const std::int64_t size = gamma.numel();
  const T* weights = gamma.data<T>();
  RowReader<T> reader(x, RowLayout::plain(size));
  RowWriter<T> writer(y, RowLayout::plain(size));
  for (std::int64_t row = 0; row < rstd.numel(); ++row) {
    const T* from = reader.read(row);
    T* to = writer.write(row);
    const T squares = row_sum<T>(size, summation, [from](std::int64_t i) { return from[i] * from[i]; });
    const T factor = 1 / std::sqrt(squares / static_cast<T>(size) + static_cast<T>(epsilon));
    for (std::int64_t i = 0; i < size; ++i) to[i] = from[i] * factor * weights[i];
    writer.store(row);
    rstd.mutable_data<T>()[row] = factor;
  }
}

// gradient of x: rstd * (g gamma - xh mean(g gamma xh)), where xh = x rstd. products becomes g xh.
template <class T>
void normalise_rows_backward(const Tensor& x, const Tensor& gamma, const Tensor& rstd, const Tensor& g,
                             const Summation& summation, Tensor& gradient, Tensor& products) {
  const std::int64_t size = gamma.numel();
  const T* weights = gamma.data<T>();
  RowReader<T> inputs(x, RowLayout::plain(size));
  RowReader<T> gradients(g, RowLayout::plain(size));
  RowWriter<T> writer(gradient, RowLayout::plain(size));
  for (std::int64_t row = 0; row < rstd.numel(); ++row) {
    const T* from = inputs.read(row);
    const T* dy = gradients.read(row);
    T* to = writer.write(row);
    T* product = products.mutable_data<T>() + row * size;
    const T factor = rstd.data<T>()[row];
    for (std::int64_t i = 0; i < size; ++i) product[i] = dy[i] * from[i] * factor;
    const T total = row_sum<T>(size, summation, [=](std::int64_t i) { return product[i] * weights[i]; });
    const T mean = total / static_cast<T>(size);
    for (std::int64_t i = 0; i < size; ++i) to[i] = factor * (dy[i] * weights[i] - from[i] * factor * mean);
    writer.store(row);
  }
}

// Over the last axes of x, as many as gamma has.
RmsNorm rms_norm(const Var& x, const Var& gamma, double epsilon) {
  const auto axes = static_cast<std::ptrdiff_t>(gamma.rank());
  if (axes == 0 || axes > x.rank() || gamma.numel() == 0 ||
      Dims(x.shape().end() - axes, x.shape().end()) != gamma.shape()) {
    throw SkipError("A gamma of shape " + tuple_text(gamma.shape()) + " does not fit an input of shape " +
                    tuple_text(x.shape()) + ".");
  }
  const DType dtype = result_dtype({&x, &gamma});
  const DType of_statistics = compute_dtype(dtype);
  const DType compute = x.context().held_dtype(of_statistics);
  const Summation summation = x.arithmetic().summation;
  const Tensor input = x.tensor().contiguous();
  const Tensor weights = gamma.tensor().to(compute).contiguous();
  Dims shape = x.shape();
  std::fill(shape.end() - axes, shape.end(), 1);
  Tensor rstd(compute, shape);
  Tensor y(dtype, x.shape());
  x.context().note_sums(gamma.numel(), y.numel() / gamma.numel(), SumForm::rows);
  visit_compute(compute,
                [&](auto element) { normalise_rows<decltype(element)>(input, weights, epsilon, summation, y, rstd); });
  const auto vjp = [input, weights, rstd, compute, of_statistics, summation, axes,
                    &context = x.context()](const Tensor& g) {
    const Tensor gradient = g.contiguous();
    context.note_sums(weights.numel(), gradient.numel() / weights.numel(), SumForm::rows);
    Tensor of_x(is_floating(input.dtype()) ? input.dtype() : of_statistics, input.shape());
    Tensor products(compute, input.shape());
    visit_compute(compute, [&](auto element) {
      normalise_rows_backward<decltype(element)>(input, weights, rstd, gradient, summation, of_x, products);
    });
    Dims leading;
    for (std::int64_t axis = 0; axis + axes < input.rank(); ++axis) leading.push_back(axis);
    const Tensor of_gamma = leading.empty() ? products : sum(products, leading, false, context);
    return std::vector<Tensor>{of_x, of_gamma};
  };
  return {x.tape().record(y, {x, gamma}, vjp), rstd.to(of_statistics)};
}

OP("npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06)", [](const Bound& args) -> Value {
  const RmsNorm result = rms_norm(args.var("self"), args.var("gamma"), args.real("epsilon"));
  return List{result.y, args.tape().constant(result.rstd)};
});
NAMES("npu_rms_norm", "NPU: npu_rms_norm");

// y = rms_norm(x1 + x2); also returns rstd and the sum.
OP("npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06)", [](const Bound& args) -> Value {
  Raised raised;
  const Var x1 = raised(args.var("x1"));
  const Var x2 = raised(args.var("x2"));
  const Var gamma = raised(args.var("gamma"));
  const Var x = add(x1, x2);
  const RmsNorm result = rms_norm(x, gamma, args.real("epsilon"));
  return List{raised.back(result.y), args.tape().constant(result.rstd), raised.back(x)};
});
NAMES("npu_add_rms_norm", "NPU: npu_add_rms_norm");

NAMES("layer_norm", "NPU: npu_layer_norm_eval");

// Group norm, then silu; also returns mean and rstd per sample and group.
OP("npu_group_norm_silu(Tensor input, Tensor? weight, Tensor? bias, int group, float eps=1e-05)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var x = raised(args.var("input"));
     if (x.rank() < 2) throw SkipError("npu_group_norm_silu needs an input of at least 2 dimensions.");
     const auto parameter = [&](const char* name) -> Value {
       const std::optional<Var> var = raised(args.optional_var(name));
       return var ? Value(*var) : Value(None{});
     };
     const std::int64_t space = element_count(Dims(x.shape().begin() + 2, x.shape().end()));
     const Value weight = parameter("weight");
     const Value bias = parameter("bias");
     const Value normalised =
         find_canonical("native_group_norm")
             ->call({x, weight, bias, x.size(0), x.size(1), space, args.integer("group"), args.real("eps")}, {},
                    args.tape());
     const List& results = *normalised.get<List>();
     return List{raised.back(silu(*results[0].get<Var>())), raised.back(*results[1].get<Var>()),
                 raised.back(*results[2].get<Var>())};
   });
NAMES("npu_group_norm_silu", "NPU: npu_group_norm_silu");

}  // namespace
}  // namespace msrun
