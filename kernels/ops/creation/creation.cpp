// Operators that make tensors from sizes and numbers, and those that overwrite one.
#include <algorithm>
#include <cmath>

#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

// torch's dtype for a Python number: float32 for floats.
DType dtype_of_number(const Var& number) {
  return number.is_number() && number.dtype() == DType::float64 ? DType::float32 : number.dtype();
}

Var filled(const Dims& shape, const Var& value, DType dtype) {
  if (value.numel() != 1) throw SkipError("The value to fill with must be a single number.");
  element_count(shape);  // for expand() -1 would be a size that is left open
  return value.tape().constant(value.tensor().reshape({}).to(dtype).expand(shape).clone());
}

template <int value>
Value new_operator(const Bound& args) {
  return filled(args.ints("size"), args.tape().number(std::int64_t{value}),
                args.optional_dtype("dtype").value_or(args.var("input").dtype()));
}

template <int value>
Value sized_operator(const Bound& args) {
  return filled(args.ints("size"), args.tape().number(std::int64_t{value}),
                args.optional_dtype("dtype").value_or(DType::float32));
}

template <int value>
Value like_operator(const Bound& args) {
  const Var input = args.var("input");
  return filled(input.shape(), args.tape().number(std::int64_t{value}),
                args.optional_dtype("dtype").value_or(input.dtype()));
}

// Every element is the sum of the start and so many steps, which cancel near zero.
void note_places(const EvaluationContext& context, double start, double step, std::int64_t count) {
  Choices* choices = context.choices();
  if (choices == nullptr) return;
  choices->terms = Tensor(DType::float64, Dims{count});
  auto* terms = choices->terms.mutable_data<double>();
  for (std::int64_t i = 0; i < count; ++i) terms[i] = std::hypot(start, step * static_cast<double>(i));
}

Var arange(const Var& start, const Var& end, const Var& step, std::optional<DType> wanted) {
  const bool integers = !is_floating(start.dtype()) && !is_floating(end.dtype()) && !is_floating(step.dtype());
  const DType dtype = wanted.value_or(integers ? DType::int64 : DType::float32);
  // Elements of an integer range are counted from the whole start in whole steps, whatever the numbers were.
  const bool whole = is_integer(dtype);
  Tape& tape = start.tape();
  // int64 makes the end whole as well; the narrower dtypes take it as it is.
  const auto bound = [&](const Var& number) {
    const double value = number.tensor().item();
    return dtype == DType::int64 ? std::trunc(value) : value;
  };
  const double from = bound(start);
  const double to = bound(end);
  const double by = bound(step);
  if (by == 0) throw SkipError("arange: step must be nonzero.");
  if (!std::isfinite(from) || !std::isfinite(to) || std::isnan(by)) throw SkipError("arange: unsupported range.");
  if ((by > 0) != (to >= from) && to != from) {
    throw SkipError("arange: upper bound and lower bound inconsistent with step sign.");
  }
  const double length = std::ceil((to - from) / by);
  if (length > 0x1p40) throw SkipError("arange: the range has too many elements.");
  const Dims shape{static_cast<std::int64_t>(length)};
  if (integers || whole) {
    const std::int64_t first = start.tensor().to(DType::int64).int_item();
    const std::int64_t width = step.tensor().to(DType::int64).int_item();
    Tensor values(DType::int64, shape);
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      values.mutable_data<std::int64_t>()[i] = wrapping_add(first, wrapping_mul(i, width));
    }
    return tape.constant(values.to(dtype));
  }
  Tensor values(DType::float64, shape);
  for (std::int64_t i = 0; i < shape[0]; ++i) values.mutable_data<double>()[i] = from + static_cast<double>(i) * by;
  note_places(tape.context(), from, by, shape[0]);
  return tape.constant(values.to(dtype));
}

// Both ends belong to it, unlike those of arange.
Tensor closed_range(const EvaluationContext& context, double start, double end, double step) {
  if (step == 0) throw SkipError("range: step must be nonzero.");
  if (!std::isfinite(start) || !std::isfinite(end) || std::isnan(step)) throw SkipError("range: unsupported range.");
  if ((step > 0) != (end >= start) && end != start) {
    throw SkipError("range: upper bound and lower bound inconsistent with step sign.");
  }
  const double length = std::floor((end - start) / step) + 1;
  if (length > 0x1p40) throw SkipError("range: the range has too many elements.");
  Tensor values(DType::float64, Dims{static_cast<std::int64_t>(length)});
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    values.mutable_data<double>()[i] = start + static_cast<double>(i) * step;
  }
  note_places(context, start, step, values.numel());
  return values;
}

// Symmetric: the first half counts from the start, the second from the end. The ends of an integer range are whole.
Tensor spaced(const EvaluationContext& context, double start, double end, std::int64_t steps, DType dtype) {
  if (steps < 0) throw SkipError("linspace: number of steps must be non-negative.");
  if (!is_floating(dtype) && !is_complex(dtype)) {
    start = std::trunc(start);
    end = std::trunc(end);
  }
  Tensor values(DType::float64, Dims{steps});
  auto* value = values.mutable_data<double>();
  const double width = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    value[i] = i < steps / 2 || steps == 1 ? start + width * static_cast<double>(i)
                                           : end - width * static_cast<double>(steps - 1 - i);
  }
  note_places(context, start, width, steps);
  return values;
}

Tensor powers(double base, const Tensor& exponents) {
  return map(DType::float64, exponents, [base](auto x) { return std::pow(static_cast<decltype(x)>(base), x); });
}

// A power is off by as much as its exponent, times the logarithm of the base.
void note_powers(const EvaluationContext& context, double base, const Tensor& exponents) {
  Choices* choices = context.choices();
  if (choices == nullptr || !choices->terms.defined()) return;
  auto* terms = choices->terms.mutable_data<double>();
  const double steepness = std::abs(std::log(std::abs(base)));
  for (std::int64_t i = 0; i < exponents.numel(); ++i) {
    const double slope = std::abs(std::pow(base, exponents.data<double>()[i])) * steepness;
    terms[i] = std::isfinite(slope) ? terms[i] * slope : 0;
  }
}

Tensor eye(std::int64_t rows, std::int64_t columns, DType dtype) {
  if (rows < 0 || columns < 0) throw SkipError("eye: the sizes must not be negative.");
  Tensor ones(DType::boolean, Dims{rows, columns});
  auto* mark = ones.mutable_data<bool>();
  std::fill_n(mark, ones.numel(), false);
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) mark[i * columns + i] = true;
  return ones.to(dtype);
}

// Coordinates of the lower or upper triangle, row by row.
Tensor triangle_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset, bool lower) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  if (rows < 0 || columns < 0 || rows > limit || columns > limit) {
    throw SkipError("The sizes of a triangle must not be negative or larger than 2^31.");
  }
  offset = std::clamp(offset, -rows, columns);
  // The columns of a row that belong to the triangle are [first, last).
  const auto first = [&](std::int64_t row) { return lower ? 0 : std::clamp<std::int64_t>(row + offset, 0, columns); };
  const auto last = [&](std::int64_t row) {
    return lower ? std::clamp<std::int64_t>(row + offset + 1, 0, columns) : columns;
  };
  // The rows that have such columns, so that every step of the loops below has something to store.
  const std::int64_t first_row = lower && columns > 0 ? std::max<std::int64_t>(0, -offset) : 0;
  const std::int64_t last_row = columns == 0 ? 0 : lower ? rows : std::min(rows, columns - offset);
  std::int64_t count = 0;
  for (std::int64_t row = first_row; row < last_row; ++row) {
    count += last(row) - first(row);
    check_tensor_memory(static_cast<std::size_t>(count), 2 * sizeof(std::int64_t));
  }
  Tensor result(DType::int64, Dims{2, count});
  auto* row_of = result.mutable_data<std::int64_t>();
  std::int64_t* column_of = row_of + count;
  for (std::int64_t row = first_row; row < last_row; ++row) {
    for (std::int64_t column = first(row); column < last(row); ++column) {
      *row_of++ = row;
      *column_of++ = column;
    }
  }
  return result;
}

// What x becomes when it is overwritten by value: no gradient is left for x.
Var overwrite(const Var& x, const Var& value) {
  const Tensor y = value.tensor().to(x.dtype()).expand(x.shape()).clone();
  const Edge to_x{x, [](const Tensor& g) { return Tensor::zeros(g.dtype(), g.shape()); }};
  const Edge to_value{
      value, [shape = value.shape(), &context = x.context()](const Tensor& g) { return sum_to(g, shape, context); }};
  return x.tape().record(y, {to_x, to_value});
}

// True on the diagonal that goes through the first element; with wrap a tall matrix has further ones, a row apart.
Tensor diagonal_mask(const Dims& shape, bool wrap) {
  if (shape.size() < 2) throw SkipError("fill_diagonal_: the tensor must have at least two dimensions.");
  if (shape.size() > 2 && std::any_of(shape.begin(), shape.end(), [&](auto size) { return size != shape[0]; })) {
    throw SkipError("fill_diagonal_: all dimensions must be of one size.");
  }
  Tensor mask = Tensor::zeros(DType::boolean, shape);
  std::int64_t step = 0;
  for (const std::int64_t stride : row_major_strides(shape)) step += stride;
  const std::int64_t length = *std::min_element(shape.begin(), shape.end());
  const bool further = wrap && shape.size() == 2;
  for (std::int64_t i = 0, at = 0; at < mask.numel() && (further || i < length); ++i, at += step) {
    mask.mutable_data<bool>()[at] = true;
  }
  return mask;
}

// The first elements in another shape. What would be behind them is not known.
Var resized(const Var& x, const Dims& shape) {
  const std::int64_t count = element_count(shape);
  if (count > x.numel()) {
    throw SkipError("Resizing to more elements than there are leaves memory that nobody has written.");
  }
  return x.tape().constant(x.tensor().contiguous().reshape(Dims{x.numel()}).slice(0, 0, count).reshape(shape));
}

Value zero_operator(const Bound& args) { return overwrite(args.var("input"), args.tape().number(std::int64_t{0})); }

}  // namespace

OP("zeros(int[]... size, *, dtype? dtype=None)", sized_operator<0>);
NAMES("zeros", "Torch: zeros; Aten: zeros; Mint: zeros zeros_ex");
TRY_FIRST("zeros", Trial::of_sizes);

OP("ones(int[]... size, *, dtype? dtype=None)", sized_operator<1>);
NAMES("ones", "Torch: ones; Aten: ones; Mint: ones ones_ex");
TRY_FIRST("ones", Trial::of_sizes);

OP("full(int[] size, Operand fill_value, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  const Var value = args.var("fill_value");
  return filled(args.ints("size"), value, args.optional_dtype("dtype").value_or(dtype_of_number(value)));
});
NAMES("full", "Torch: full; Aten: full; Mint: full");
TRY_FIRST("full", Trial::of_sizes);
TRAITS("full", .complex = true);

OP("zeros_like(Tensor input, *, dtype? dtype=None)", like_operator<0>);
NAMES("zeros_like", "Torch: zeros_like; Aten: zeros_like; Mint: zeros_like");
TRAITS("zeros_like", .complex = true);

OP("ones_like(Tensor input, *, dtype? dtype=None)", like_operator<1>);
NAMES("ones_like", "Torch: ones_like; Aten: ones_like; Mint: ones_like");
TRAITS("ones_like", .complex = true);

OP("full_like(Tensor input, Operand fill_value, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  const Var input = args.var("input");
  return filled(input.shape(), args.var("fill_value"), args.optional_dtype("dtype").value_or(input.dtype()));
});
NAMES("full_like", "Torch: full_like; Aten: full_like");
TRAITS("full_like", .complex = true);

OP("new_zeros(Tensor input, int[]... size, *, dtype? dtype=None)", new_operator<0>);
NAMES("new_zeros", "Tensor: new_zeros; Aten: new_zeros");
TRY_FIRST("new_zeros", Trial::of_sizes);
TRAITS("new_zeros", .complex = true);

OP("new_ones(Tensor input, int[]... size, *, dtype? dtype=None)", new_operator<1>);
NAMES("new_ones", "Tensor: new_ones; Aten: new_ones");
TRY_FIRST("new_ones", Trial::of_sizes);
TRAITS("new_ones", .complex = true);

OP("new_full(Tensor input, int[] size, Operand fill_value, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return filled(args.ints("size"), args.var("fill_value"),
                args.optional_dtype("dtype").value_or(args.var("input").dtype()));
});
NAMES("new_full", "Tensor: new_full; Aten: new_full");
TRY_FIRST("new_full", Trial::of_sizes);
TRAITS("new_full", .complex = true);

OP("scalar_tensor(Scalar s, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return filled({}, args.var("s"), args.optional_dtype("dtype").value_or(DType::float32));
});
NAMES("scalar_tensor", "Torch: scalar_tensor; Aten: scalar_tensor");

OP("arange(Scalar end, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  Tape& tape = args.tape();
  return arange(tape.number(std::int64_t{0}), args.var("end"), tape.number(std::int64_t{1}),
                args.optional_dtype("dtype"));
});
OP("arange(Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return arange(args.var("start"), args.var("end"), args.var("step"), args.optional_dtype("dtype"));
});
NAMES("arange", "Torch: arange; Aten: arange; Mint: arange");
TRY_FIRST("arange", Trial::of_sizes);

OP("range(Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return args.tape().constant(
      closed_range(args.tape().context(), args.real("start"), args.real("end"), args.real("step"))
          .to(args.optional_dtype("dtype").value_or(DType::float32)));
});
NAMES("range", "Torch: range");
TRY_FIRST("range", Trial::of_sizes);

OP("fill_diagonal_(Tensor input, Scalar fill_value, bool wrap=False)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Var mask = args.tape().constant(diagonal_mask(x.shape(), args.flag("wrap")));
  const Tensor value = args.var("fill_value").tensor().to(x.dtype());
  return where(mask, args.tape().constant(value), x);
});
NAMES("fill_diagonal_", "Tensor: fill_diagonal_");
TRAITS("fill_diagonal_", .complex = true);

OP("resize_(Tensor input, int[]... size)",
   [](const Bound& args) -> Value { return resized(args.var("input"), args.ints("size")); });
NAMES("resize_", "Tensor: resize_; Aten: resize_");
TRY_FIRST("resize_", Trial::of_sizes);
TRAITS("resize_", .copies_only = true);

OP("resize_as_(Tensor input, Tensor the_template)",
   [](const Bound& args) -> Value { return resized(args.var("input"), args.var("the_template").shape()); });
NAMES("resize_as_", "Torch: resize_as_; Tensor: resize_as_; Aten: resize_as_");
TRY_FIRST("resize_as_", Trial::of_sizes);
TRAITS("resize_as_", .copies_only = true);

OP("linspace(Scalar start, Scalar end, int steps, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  const DType dtype = args.optional_dtype("dtype").value_or(DType::float32);
  return args.tape().constant(
      spaced(args.tape().context(), args.real("start"), args.real("end"), args.integer("steps"), dtype).to(dtype));
});
NAMES("linspace", "Torch: linspace; Aten: linspace; Mint: linspace");
TRY_FIRST("linspace", Trial::of_sizes);

OP("logspace(Scalar start, Scalar end, int steps, float base=10.0, *, dtype? dtype=None)",
   [](const Bound& args) -> Value {
     const DType dtype = args.optional_dtype("dtype").value_or(DType::float32);
     const Tensor exponents =
         spaced(args.tape().context(), args.real("start"), args.real("end"), args.integer("steps"), dtype);
     note_powers(args.tape().context(), args.real("base"), exponents);
     return args.tape().constant(powers(args.real("base"), exponents).to(dtype));
   });
NAMES("logspace", "Torch: logspace; Aten: logspace");
TRY_FIRST("logspace", Trial::of_sizes);

OP("eye(int n, int? m=None, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  const std::int64_t rows = args.integer("n");
  return args.tape().constant(
      eye(rows, args.optional_integer("m").value_or(rows), args.optional_dtype("dtype").value_or(DType::float32)));
});
NAMES("eye", "Torch: eye; Aten: eye; Mint: eye");
TRY_FIRST("eye", Trial::of_sizes);

OP("tril_indices(int row, int col, int offset=0, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return args.tape().constant(triangle_indices(args.integer("row"), args.integer("col"), args.integer("offset"), true)
                                  .to(args.optional_dtype("dtype").value_or(DType::int64)));
});
NAMES("tril_indices", "Torch: tril_indices; Aten: tril_indices");
TRY_FIRST("tril_indices", Trial::of_sizes);

OP("triu_indices(int row, int col, int offset=0, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return args.tape().constant(triangle_indices(args.integer("row"), args.integer("col"), args.integer("offset"), false)
                                  .to(args.optional_dtype("dtype").value_or(DType::int64)));
});
NAMES("triu_indices", "Torch: triu_indices; Aten: triu_indices");
TRY_FIRST("triu_indices", Trial::of_sizes);

OP("fill_(Tensor input, Operand value)",
   [](const Bound& args) -> Value { return overwrite(args.var("input"), args.var("value")); });
NAMES("fill_", "Torch: fill_; Tensor: fill_; Aten: fill_ fill");
TRAITS("fill_", .complex = true);

OP("zero_(Tensor input)", zero_operator);
NAMES("zero_", "Tensor: zero_; Aten: zero zero_");
TRAITS("zero_", .complex = true);

OP("copy_(Tensor input, Operand src, bool non_blocking=False)",
   [](const Bound& args) -> Value { return overwrite(args.var("input"), args.var("src")); });
OP("copy_(Tensor input, Operand other)",
   [](const Bound& args) -> Value { return overwrite(args.var("input"), args.var("other")); });
NAMES("copy_", "Tensor: copy_; Aten: copy copy_");
TRAITS("copy_", .complex = true);

}  // namespace msrun
