// Softmax and its logarithm along one axis: a row at a time, with gradients from the result (api_inventory.md 3,
// activation).
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/sums.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

enum class Form : std::uint8_t {
  plain,
  logarithm,
  safe,  // a row of nothing but -inf gives zeros instead of NaN
};

// y / total for all y: by the reciprocal, corrected by the remainder, which is several times as fast as dividing.
template <class T>
void divide_row(T* y, std::int64_t count, T total) {
  const T reciprocal = T{1} / total;
  if (!std::isfinite(total) || !std::isnormal(reciprocal)) {
    for (std::int64_t i = 0; i < count; ++i) y[i] /= total;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const T quotient = y[i] * reciprocal;
    y[i] = quotient + (y[i] - quotient * total) * reciprocal;
  }
}

template <class T>
void forward_row(const T* x, T* y, std::int64_t count, Form form, const Summation& summation, std::uint32_t seed) {
  const T largest = row_max(x, count);
  if (form == Form::safe && largest == -std::numeric_limits<T>::infinity()) {
    bool masked = true;
    for (std::int64_t i = 0; i < count; ++i) masked = masked && !std::isnan(x[i]);
    if (masked) {
      std::fill_n(y, count, T{0});
      return;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) y[i] = exponential(x[i] - largest);
  const T total = row_sum<T>(count, summation, [y](std::int64_t i) { return y[i]; });
  if (form == Form::logarithm) {
    // Where one element is nearly all, the logarithm is what the last place of the sum is.
    const T log_total = std::log(seed != 0 ? a_place_beside(total, seed) : total);
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] - largest - log_total;
  } else {
    divide_row(y, count, total);
  }
}

template <class T>
void backward_row(const EvaluationContext& context, const T* y, const T* g, T* result, std::int64_t count, Form form) {
  const Summation& summation = context.arithmetic.summation;
  const std::uint32_t seed = context.jitter_seed;
  if (form == Form::plain && seed != 0) {
    // Kernels may store the products of both, which cancel with the sum of all of them.
    for (std::int64_t i = 0; i < count; ++i) result[i] = off_by_a_place(g[i] * y[i], seed);
    if (const auto smallest = static_cast<T>(context.smallest_stored()); smallest > 0) {
      for (std::int64_t i = 0; i < count; ++i) result[i] = std::nearbyint(result[i] / smallest) * smallest;
    }
    const T total = row_sum<T>(count, summation, [result](std::int64_t i) { return result[i]; });
    for (std::int64_t i = 0; i < count; ++i) result[i] -= y[i] * total;
  } else if (form == Form::logarithm) {
    const T total = row_sum<T>(count, summation, [g](std::int64_t i) { return g[i]; });
    for (std::int64_t i = 0; i < count; ++i) result[i] = g[i] - exponential(y[i]) * total;
  } else {
    const T total = row_sum<T>(count, summation, [g, y](std::int64_t i) { return g[i] * y[i]; });
    for (std::int64_t i = 0; i < count; ++i) result[i] = y[i] * (g[i] - total);
  }
}

// A shape around the axis that is reduced.
struct Extents {
  std::int64_t outer = 1;
  std::int64_t count = 1;
  std::int64_t inner = 1;
};

Extents extents_of(const Dims& shape, std::int64_t axis) {
  if (shape.empty()) return {};
  const auto at = static_cast<std::size_t>(axis);
  return {element_count(std::span(shape.data(), at)), shape[at],
          element_count(std::span(shape.data() + at + 1, shape.size() - at - 1))};
}

// Rows along the axis, one after another.
Tensor rows_of(const Tensor& tensor, const Extents& extents) {
  return extents.inner == 1 ? tensor.contiguous() : exchange_axes(tensor, extents.outer, extents.count, extents.inner);
}

Tensor from_rows(const Tensor& rows, const Extents& extents, const Dims& shape) {
  if (extents.inner == 1) return rows.reshape(shape);
  return exchange_axes(rows, extents.outer, extents.inner, extents.count).reshape(shape);
}

Tensor forward(const EvaluationContext& context, const Tensor& input, std::int64_t axis, Form form) {
  const Summation& summation = context.arithmetic.summation;
  const Extents extents = extents_of(input.shape(), axis);
  const Tensor x = rows_of(input, extents);
  Tensor y(x.dtype(), x.shape());
  if (y.numel() == 0) return y.reshape(input.shape());
  const RowLayout layout = RowLayout::plain(extents.count);
  visit_compute(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const std::uint32_t seed = std::is_same_v<T, double> ? context.jitter_seed : 0;
    RowReader<T> from(x, layout);
    RowWriter<T> to(y, layout);
    for (std::int64_t row = 0; row < extents.outer * extents.inner; ++row) {
      forward_row(from.read(row), to.write(row), extents.count, form, summation, seed);
      to.store(row);
    }
  });
  return from_rows(y, extents, input.shape());
}

Tensor backward(const EvaluationContext& context, const Tensor& output, const Tensor& gradient, std::int64_t axis,
                Form form) {
  const Extents extents = extents_of(output.shape(), axis);
  const Tensor y = rows_of(off_by_places(output, context.jitter_seed), extents);
  const Tensor g = rows_of(gradient, extents);
  Tensor result(y.dtype(), y.shape());
  if (result.numel() == 0) return result.reshape(output.shape());
  const RowLayout layout = RowLayout::plain(extents.count);
  visit_compute(y.dtype(), [&](auto element) {
    using T = decltype(element);
    RowReader<T> outputs(y, layout);
    RowReader<T> gradients(g, layout);
    RowWriter<T> to(result, layout);
    for (std::int64_t row = 0; row < extents.outer * extents.inner; ++row) {
      backward_row(context, outputs.read(row), gradients.read(row), to.write(row), extents.count, form);
      to.store(row);
    }
  });
  return from_rows(result, extents, output.shape());
}

Var normalised_exponential(const Var& x, std::int64_t dim, Form form) {
  if (!is_floating(x.dtype()))
    throw SkipError("softmax is not defined for tensors of dtype " + std::string(name(x.dtype())) + ".");
  const std::int64_t axis = normalize_axis(dim, x.rank());
  const EvaluationContext& context = x.context();
  const std::int64_t classes = x.rank() == 0 ? 1 : x.size(axis);
  context.note_sums(classes, classes == 0 ? 0 : x.numel() / classes, SumForm::rows);
  const Tensor y = forward(context, x.tensor(), axis, form);
  return x.tape().record(
      y, {{x, [y, axis, form, &context](const Tensor& g) { return backward(context, y, g, axis, form); }}});
}

// torch.nn.functional chooses an axis where none is given.
std::int64_t axis_or_legacy(const Bound& args, const Var& x) {
  const std::int64_t rank = x.rank();
  return args.optional_integer("dim").value_or(rank == 0 || rank == 1 || rank == 3 ? 0 : 1);
}

Var input_in_dtype(const Bound& args) {
  const Var x = args.var("input");
  const auto dtype = args.optional_dtype("dtype");
  return dtype ? computed_in(x, *dtype) : x;
}

Value functional(const Bound& args, Form form) {
  const Var x = input_in_dtype(args);
  return normalised_exponential(x, axis_or_legacy(args, x), form);
}

// Aten's form: a flag that asks for a float32 result instead of a dtype.
Value aten(const Bound& args, Form form) {
  const Var x = args.var("input");
  return normalised_exponential(args.flag("half_to_float") ? computed_in(x, DType::float32) : x, args.integer("dim"),
                                form);
}

Value backward_kernel(const Bound& args, Form form) {
  const Tensor y = args.var("output").tensor();
  const Tensor g = args.var("grad_output").tensor();
  if (y.shape() != g.shape() || !is_floating(y.dtype()))
    throw SkipError("The output and its gradient do not fit each other.");
  const std::int64_t axis = normalize_axis(args.integer("dim"), y.rank());
  const Tensor result = backward(args.tape().context(), y, g, axis, form);
  // A benchmark, whose arguments are raised, stays as wide as they are.
  const DType dtype = args.optional_dtype("input_dtype").value_or(g.dtype());
  return args.tape().constant(dtype == args.tape().context().recorded_dtype(g.dtype()) ? result.to(g.dtype())
                                                                                       : result.to(dtype));
}

}  // namespace

Var softmax(const Var& x, std::int64_t axis) { return normalised_exponential(x, axis, Form::plain); }
Var log_softmax(const Var& x, std::int64_t axis) { return normalised_exponential(x, axis, Form::logarithm); }

// torch.nn.functional has _stacklevel before dtype, torch and the tensor methods do not; the types tell them apart.
OP("softmax(Tensor input, int? dim=None, int _stacklevel=3, dtype? dtype=None)",
   [](const Bound& args) { return functional(args, Form::plain); });
OP("softmax(Tensor input, int dim, dtype? dtype=None)",
   [](const Bound& args) { return functional(args, Form::plain); });
NAMES("softmax",
      "Functional: softmax; Torch: softmax; Tensor: softmax; Mint: softmax; MintFunctional: softmax softmax_ex; "
      "Aten: softmax");
TRAITS("softmax", .autocast = AutocastPolicy::float32, .one_kernel = true, .element_work = 1.5);

OP("log_softmax(Tensor input, int? dim=None, int _stacklevel=3, dtype? dtype=None)",
   [](const Bound& args) { return functional(args, Form::logarithm); });
OP("log_softmax(Tensor input, int dim, dtype? dtype=None)",
   [](const Bound& args) { return functional(args, Form::logarithm); });
NAMES(
    "log_softmax",
    "Functional: log_softmax; Torch: log_softmax; Tensor: log_softmax; MintFunctional: log_softmax; Aten: log_softmax");
TRAITS("log_softmax", .autocast = AutocastPolicy::float32, .one_kernel = true, .logarithm_of_sums = true,
       .element_work = 1.6);

OP("_softmax(Tensor input, int dim, bool half_to_float=False)",
   [](const Bound& args) { return aten(args, Form::plain); });
NAMES("_softmax", "Torch: _softmax; Aten: _softmax");
TRAITS("_softmax", .one_kernel = true);

OP("_log_softmax(Tensor input, int dim, bool half_to_float=False)",
   [](const Bound& args) { return aten(args, Form::logarithm); });
NAMES("_log_softmax", "Torch: _log_softmax; Aten: _log_softmax");
TRAITS("_log_softmax", .one_kernel = true, .logarithm_of_sums = true);

OP("_safe_softmax(Tensor input, int dim, dtype? dtype=None)",
   [](const Bound& args) { return functional(args, Form::safe); });
NAMES("_safe_softmax", "Torch: _safe_softmax; Aten: _safe_softmax");

OP("softmin(Tensor input, int? dim=None, int _stacklevel=3, dtype? dtype=None)", [](const Bound& args) -> Value {
  const Var x = input_in_dtype(args);
  return softmax(neg(x), axis_or_legacy(args, x));
});
NAMES("softmin", "Functional: softmin");
TRAITS("softmin", .autocast = AutocastPolicy::float32, .recorded_gradients = RecordedGradients::of_last_step);

OP("gumbel_softmax(Tensor logits, float tau=1, bool hard=False, float eps=1e-10, int dim=-1)",
   [](const Bound&) -> Value { throw SkipError("gumbel_softmax is random: its values cannot be compared."); });
NAMES("gumbel_softmax", "Functional: gumbel_softmax");
TRAITS("gumbel_softmax", .varies = Varies::results);

OP("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, dtype? input_dtype=None)",
   [](const Bound& args) { return backward_kernel(args, Form::plain); });
NAMES("_softmax_backward_data", "Torch: _softmax_backward_data; Aten: _softmax_backward_data");

OP("_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, dtype? input_dtype=None)",
   [](const Bound& args) { return backward_kernel(args, Form::logarithm); });
NAMES("_log_softmax_backward_data", "Torch: _log_softmax_backward_data; Aten: _log_softmax_backward_data");

}  // namespace msrun
