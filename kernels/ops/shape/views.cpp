// The functions that move or repeat data without arithmetic, and the operators that reshape, reorder and cut.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/layout.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

// A view of x. place(shape, strides) says what it shows of a tensor with these; the gradient is added back at those
// places.
template <class Place>
Var strided_view(const Var& x, Place place) {
  const Placement view = place(x.shape(), x.tensor().strides());
  return x.tape().record(x.tensor().with_strides(view.shape, view.strides, view.offset),
                         {{x, [shape = x.shape(), place](const Tensor& g) {
                             const Placement own = place(shape, row_major_strides(shape));
                             return embed(shape, own.strides, own.offset, g);
                           }}});
}

std::size_t checked_axis(const Var& x, std::int64_t axis) {
  if (x.rank() == 0) throw SkipError("A 0-d tensor cannot be sliced.");
  return static_cast<std::size_t>(normalize_axis(axis, x.rank()));
}

// Python's meaning of a slice: bounds count from the end if negative and are cut to the size.
Var python_slice(const Var& x, std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                 std::int64_t step) {
  const std::int64_t size = x.shape()[checked_axis(x, axis)];
  if (step < 1) throw SkipError("slice step must be positive.");
  const auto bound = [size](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t first = bound(start.value_or(0));
  const std::int64_t last = std::max(first, bound(stop.value_or(size)));
  const std::int64_t length = last == first ? 0 : (last - first - 1) / step + 1;
  return slice(x, axis, first, length, length < 2 ? 1 : step);
}

Var narrow(const Var& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  const std::int64_t size = x.shape()[checked_axis(x, axis)];
  return slice(x, axis, start < 0 ? start + size : start, length);
}

Var squeeze_all(const Var& x) {
  Dims shape;
  for (const std::int64_t size : x.shape()) {
    if (size != 1) shape.push_back(size);
  }
  return reshape(x, shape);
}

Var squeeze_axes(const Var& x, const Dims& axes) {
  Dims marks(x.shape().size());
  for (const std::int64_t axis : axes) {
    const std::int64_t at = normalize_axis(axis, x.rank());
    if (x.rank() > 0) marks[static_cast<std::size_t>(at)] = 1;
  }
  Dims shape;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i] == 0 || x.shape()[i] != 1) shape.push_back(x.shape()[i]);
  }
  return reshape(x, shape);
}

Var unflatten(const Var& x, std::int64_t axis, const Dims& sizes) {
  const std::size_t at = checked_axis(x, axis);
  if (sizes.empty()) throw SkipError("unflatten: sizes must be non-empty.");
  Dims shape(x.shape().begin(), x.shape().begin() + static_cast<std::ptrdiff_t>(at));
  std::int64_t known = 1;
  for (const std::int64_t size : sizes) {
    if (size >= 0 && __builtin_mul_overflow(known, size, &known)) throw SkipError("unflatten: sizes are too large.");
  }
  const std::int64_t extent = x.shape()[at];
  for (const std::int64_t size : sizes) shape.push_back(size != -1 ? size : known == 0 ? 0 : extent / known);
  std::int64_t product = 1;
  for (std::size_t i = at; i < shape.size(); ++i) {
    if (shape[i] < 0 || __builtin_mul_overflow(product, shape[i], &product)) {
      throw SkipError("unflatten: sizes are invalid.");
    }
  }
  if (product != extent) {
    throw SkipError("unflatten: the sizes do not multiply up to the size of the dimension, " + std::to_string(extent) +
                    ".");
  }
  for (std::size_t i = at + 1; i < x.shape().size(); ++i) shape.push_back(x.shape()[i]);
  return reshape(x, shape);
}

Var t(const Var& x) {
  if (x.rank() > 2) throw SkipError("t() expects a tensor with at most 2 dimensions.");
  return x.rank() < 2 ? x : transpose(x, 0, 1);
}

Var movedim(const Var& x, const Dims& source, const Dims& destination) {
  if (source.size() != destination.size()) throw SkipError("movedim: source and destination differ in length.");
  const auto rank = x.shape().size();
  if (rank == 0) return x;
  Dims order(rank, -1);
  Dims used(rank);
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto from = static_cast<std::size_t>(normalize_axis(source[i], x.rank()));
    const auto to = static_cast<std::size_t>(normalize_axis(destination[i], x.rank()));
    if (used[from]++ != 0 || order[to] != -1) throw SkipError("movedim: a dimension is repeated.");
    order[to] = static_cast<std::int64_t>(from);
  }
  std::size_t next = 0;
  for (std::int64_t& axis : order) {
    if (axis != -1) continue;
    while (used[next] != 0) ++next;
    axis = static_cast<std::int64_t>(next++);
  }
  return permute(x, order);
}

}  // namespace

Var diagonal(const Var& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  return strided_view(x, [=](const Dims& shape, const Dims& strides) {
    return diagonal_placement(shape, strides, offset, axis1, axis2);
  });
}

namespace {

Var diag_embed(const Var& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  const Tensor y = diag_embed(x.tensor(), offset, axis1, axis2);
  return x.tape().record(y, {{x, [=](const Tensor& g) {
                                const Placement place =
                                    diagonal_placement(g.shape(), g.strides(), offset, axis1, axis2);
                                return g.with_strides(place.shape, place.strides, place.offset);
                              }}});
}

Var diag(const Var& x, std::int64_t offset) {
  if (x.rank() == 1) return diag_embed(x, offset, 0, 1);
  if (x.rank() == 2) return diagonal(x, offset, 0, 1);
  throw SkipError("diag() supports 1-d and 2-d tensors only.");
}

// Sliding windows along an axis, as a new last axis.
Var windows(const Var& x, std::int64_t axis, std::int64_t size, std::int64_t step) {
  const std::int64_t extent = x.size(axis);
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.rank()));
  if (size < 0 || size > extent || step < 1)
    throw SkipError("unfold: the size or the step of the windows does not fit.");
  return strided_view(x, [=](const Dims& shape, const Dims& strides) {
    Placement place{shape, strides, 0};
    const std::int64_t stride = strides.empty() ? 1 : strides[at];
    if (!shape.empty()) {
      place.shape[at] = (extent - size) / step + 1;
      place.strides[at] = place.shape[at] > 1 ? stride * step : stride;
    }
    place.shape.push_back(size);
    place.strides.push_back(stride);
    return place;
  });
}

Var roll(const Var& x, const Dims& shifts, const Dims& axes) {
  if (axes.empty()) {
    if (shifts.size() != 1) throw SkipError("roll needs one shift when no dims are given.");
    return reshape(roll(reshape(x, {x.numel()}), shifts, {0}), x.shape());
  }
  if (shifts.size() != axes.size()) throw SkipError("roll: shifts and dimensions must align.");
  Tensor y = x.tensor();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (shifts[i] == std::numeric_limits<std::int64_t>::min()) throw SkipError("roll: a shift is too large.");
    y = roll(y, shifts[i], axes[i]);
  }
  return x.tape().record(y, {{x, [shifts, axes](Tensor g) {
                                for (std::size_t i = 0; i < axes.size(); ++i) g = roll(g, -shifts[i], axes[i]);
                                return g;
                              }}});
}

Var rot90(const Var& x, std::int64_t turns, const Dims& axes) {
  if (axes.size() != 2 || x.rank() < 2 || normalize_axis(axes[0], x.rank()) == normalize_axis(axes[1], x.rank())) {
    throw SkipError("rot90 needs two different dimensions.");
  }
  switch ((turns % 4 + 4) % 4) {
    case 1:
      return transpose(flip(x, {axes[1]}), axes[0], axes[1]);
    case 2:
      return flip(x, axes);
    case 3:
      return transpose(flip(x, {axes[0]}), axes[0], axes[1]);
    default:
      return x;
  }
}

}  // namespace

Var triangle(const Var& x, std::int64_t diagonal, bool lower) {
  return x.tape().record(triangle(x.tensor(), diagonal, lower),
                         {{x, [=](const Tensor& g) { return triangle(g, diagonal, lower); }}});
}

namespace {

// view(dtype): the bytes read as another dtype of which a whole number fits the last axis. Bytes are those of the
// recorded dtype: a raised tensor has others.
Var reinterpret(const Var& x, DType dtype) {
  const Tensor source = x.tensor().to(x.context().recorded_dtype(x.dtype())).contiguous();
  Dims shape = source.shape();
  const auto from = static_cast<std::int64_t>(size_of(source.dtype()));
  const auto to = static_cast<std::int64_t>(size_of(dtype));
  if (from != to) {
    if (shape.empty() || shape.back() * from % to != 0) {
      throw SkipError("view: the last dimension cannot be divided into elements of the dtype.");
    }
    shape.back() = shape.back() * from / to;
  }
  if (dtype == DType::boolean && source.dtype() != dtype) throw SkipError("view as bool is not supported.");
  Tensor result(dtype, shape);
  std::copy(source.raw(), source.raw() + source.bytes(), result.mutable_data<std::byte>());
  return x.tape().constant(result);
}

Value reshape_operator(const Bound& args) { return reshape(args.var("input"), args.ints("shape")); }

}  // namespace

Var reshape(const Var& x, const Dims& shape) {
  return x.tape().record(x.tensor().reshape(shape),
                         {{x, [from = x.shape()](const Tensor& g) { return g.reshape(from); }}});
}

Var permute(const Var& x, const Dims& axes) {
  const Tensor y = x.tensor().permute(axes);
  Dims inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    inverse[static_cast<std::size_t>(normalize_axis(axes[i], x.rank()))] = static_cast<std::int64_t>(i);
  }
  return x.tape().record(y, {{x, [inverse](const Tensor& g) { return g.permute(inverse); }}});
}

Var transpose(const Var& x, std::int64_t a, std::int64_t b) {
  return x.tape().record(x.tensor().transpose(a, b), {{x, [a, b](const Tensor& g) { return g.transpose(a, b); }}});
}

Var expand(const Var& x, const Dims& shape) {
  return x.tape().record(
      x.tensor().expand(shape),
      {{x, [from = x.shape(), &context = x.context()](const Tensor& g) { return sum_to(g, from, context); }}});
}

Var flatten(const Var& x, std::int64_t first_axis, std::int64_t last_axis) {
  if (x.rank() == 0) return reshape(x, {1});
  const std::int64_t first = normalize_axis(first_axis, x.rank());
  const std::int64_t last = normalize_axis(last_axis, x.rank());
  if (first > last) throw SkipError("flatten() has invalid args: start_dim cannot come after end_dim.");
  Dims shape;
  std::int64_t merged = 1;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t size = x.size(axis);
    if (axis >= first && axis <= last) {
      merged *= size;
      if (axis == last) shape.push_back(merged);
    } else {
      shape.push_back(size);
    }
  }
  return reshape(x, shape);
}

Var unsqueeze(const Var& x, std::int64_t axis) {
  const std::int64_t at = normalize_axis(axis, x.rank() + 1);
  return x.tape().record(x.tensor().unsqueeze(at),
                         {{x, [from = x.shape()](const Tensor& g) { return g.reshape(from); }}});
}

Var squeeze(const Var& x, std::int64_t axis) {
  return x.tape().record(x.tensor().squeeze(axis),
                         {{x, [from = x.shape()](const Tensor& g) { return g.reshape(from); }}});
}

Var slice(const Var& x, std::int64_t axis, std::int64_t start, std::int64_t length, std::int64_t step) {
  const std::size_t at = checked_axis(x, axis);
  const std::int64_t size = x.shape()[at];
  if (step < 1 || start < 0 || length < 0 || start > size || (length > 0 && (size - 1 - start) / step < length - 1) ||
      (length > 0 && start == size)) {
    throw SkipError("Slice out of range: start " + std::to_string(start) + " and length " + std::to_string(length) +
                    " of a dimension of size " + std::to_string(size) + ".");
  }
  return strided_view(x, [=](const Dims& shape, const Dims& strides) {
    Placement place{shape, strides, length > 0 ? start * strides[at] : 0};
    place.shape[at] = length;
    if (length > 1) place.strides[at] *= step;
    return place;
  });
}

Var select(const Var& x, std::int64_t axis, std::int64_t index) {
  const std::size_t at = checked_axis(x, axis);
  const std::int64_t size = x.shape()[at];
  const std::int64_t position = index < 0 ? index + size : index;
  if (position < 0 || position >= size) {
    throw SkipError("select(): index " + std::to_string(index) + " is out of range for a dimension of size " +
                    std::to_string(size) + ".");
  }
  return strided_view(x, [=](const Dims& shape, const Dims& strides) {
    Placement place{shape, strides, position * strides[at]};
    place.shape.erase(place.shape.begin() + static_cast<std::ptrdiff_t>(at));
    place.strides.erase(place.strides.begin() + static_cast<std::ptrdiff_t>(at));
    return place;
  });
}

Var flip(const Var& x, const Dims& axes) {
  return x.tape().record(flip(x.tensor(), axes), {{x, [axes](const Tensor& g) { return flip(g, axes); }}});
}

OP("reshape(Tensor input, int[]... shape)", reshape_operator);
NAMES("reshape", "Torch: reshape; Tensor: reshape; Aten: reshape; Mint: reshape");
TRAITS("reshape", .copies_only = true);

OP("view(Tensor input, dtype dtype)",
   [](const Bound& args) -> Value { return reinterpret(args.var("input"), *args.optional_dtype("dtype")); });
OP("view(Tensor input, int[]... shape)", reshape_operator);
OP("view(Tensor input, int[]... size)",
   [](const Bound& args) -> Value { return reshape(args.var("input"), args.ints("size")); });
NAMES("view", "Tensor: view; Aten: _unsafe_view view");
TRAITS("view", .copies_only = true);

OP("view_as(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return reshape(args.var("input"), args.var("other").shape()); });
NAMES("view_as", "Tensor: view_as reshape_as");
TRAITS("view_as", .copies_only = true);

OP("flatten(Tensor input, int start_dim=0, int end_dim=-1)", [](const Bound& args) -> Value {
  return flatten(args.var("input"), args.integer("start_dim"), args.integer("end_dim"));
});
NAMES("flatten", "Torch: flatten; Tensor: flatten; Mint: flatten");
TRAITS("flatten", .copies_only = true, .recorded_gradients = RecordedGradients::of_passed_input);

OP("ravel(Tensor input)", [](const Bound& args) -> Value { return reshape(args.var("input"), {-1}); });
NAMES("ravel", "Torch: ravel; Tensor: ravel");
TRAITS("ravel", .copies_only = true, .recorded_gradients = RecordedGradients::of_passed_input);

OP("unflatten(Tensor input, int dim, int[]... sizes)",
   [](const Bound& args) -> Value { return unflatten(args.var("input"), args.integer("dim"), args.ints("sizes")); });
OP("unflatten(Tensor input, int dim, int[] unflattened_size)", [](const Bound& args) -> Value {
  return unflatten(args.var("input"), args.integer("dim"), args.ints("unflattened_size"));
});
NAMES("unflatten", "Torch: unflatten; Tensor: unflatten");
TRAITS("unflatten", .copies_only = true);

OP("squeeze(Tensor input)", [](const Bound& args) -> Value { return squeeze_all(args.var("input")); });
OP("squeeze(Tensor input, int[] dim)",
   [](const Bound& args) -> Value { return squeeze_axes(args.var("input"), args.ints("dim")); });
NAMES("squeeze", "Torch: squeeze; Tensor: squeeze squeeze_; Aten: squeeze");
TRAITS("squeeze", .copies_only = true);

OP("unsqueeze(Tensor input, int dim)",
   [](const Bound& args) -> Value { return unsqueeze(args.var("input"), args.integer("dim")); });
NAMES("unsqueeze", "Torch: unsqueeze; Tensor: unsqueeze unsqueeze_; Aten: unsqueeze unsqueeze_; Mint: unsqueeze");
TRAITS("unsqueeze", .copies_only = true);

OP("transpose(Tensor input, int dim0, int dim1)",
   [](const Bound& args) -> Value { return transpose(args.var("input"), args.integer("dim0"), args.integer("dim1")); });
OP("transpose(Tensor input, int axis0, int axis1)", [](const Bound& args) -> Value {
  return transpose(args.var("input"), args.integer("axis0"), args.integer("axis1"));
});
NAMES("transpose",
      "Torch: swapaxes swapdims transpose; Tensor: swapaxes swapdims swapdims_ transpose transpose_ swapaxes_; "
      "Aten: transpose transpose_; Mint: swapaxes transpose");
TRAITS("transpose", .copies_only = true);

OP("adjoint(Tensor input)", [](const Bound& args) -> Value {
  const Var x = conjugate(args.var("input"));
  return x.rank() == 0 ? x : transpose(x, -2, -1);
});
NAMES("adjoint", "Tensor: adjoint");
TRAITS("adjoint", .complex = true);

OP("t(Tensor input)", unary_operator<t>);
NAMES("t", "Torch: t; Tensor: t t_; Aten: t t_");
TRAITS("t", .copies_only = true);

OP("permute(Tensor input, int[]... dims)",
   [](const Bound& args) -> Value { return permute(args.var("input"), args.ints("dims")); });
NAMES("permute", "Torch: permute; Tensor: permute; Aten: permute; Mint: permute permute_ex");
TRAITS("permute", .copies_only = true);

OP("movedim(Tensor input, int[] source, int[] destination)", [](const Bound& args) -> Value {
  return movedim(args.var("input"), args.ints("source"), args.ints("destination"));
});
NAMES("movedim", "Torch: moveaxis movedim; Tensor: moveaxis movedim");
TRAITS("movedim", .copies_only = true);

OP("flip(Tensor input, int[]... dims)",
   [](const Bound& args) -> Value { return flip(args.var("input"), args.ints("dims")); });
NAMES("flip", "Torch: flip; Tensor: flip; Aten: flip; Mint: flip flip_ex");
TRAITS("flip", .copies_only = true);

OP("fliplr(Tensor input)", [](const Bound& args) -> Value {
  if (args.var("input").rank() < 2) throw SkipError("fliplr needs a tensor of at least two dimensions.");
  return flip(args.var("input"), {1});
});
NAMES("fliplr", "Torch: fliplr; Tensor: fliplr");
TRAITS("fliplr", .copies_only = true);

OP("flipud(Tensor input)", [](const Bound& args) -> Value {
  if (args.var("input").rank() < 1) throw SkipError("flipud needs a tensor of at least one dimension.");
  return flip(args.var("input"), {0});
});
NAMES("flipud", "Torch: flipud; Tensor: flipud");
TRAITS("flipud", .copies_only = true);

OP("roll(Tensor input, int[] shifts, int[] dims=[])",
   [](const Bound& args) -> Value { return roll(args.var("input"), args.ints("shifts"), args.ints("dims")); });
NAMES("roll", "Torch: roll; Tensor: roll; Aten: roll; Mint: roll");
TRAITS("roll", .copies_only = true);

OP("rot90(Tensor input, int k=1, int[] dims=(0, 1))",
   [](const Bound& args) -> Value { return rot90(args.var("input"), args.integer("k"), args.ints("dims")); });
NAMES("rot90", "Torch: rot90; Tensor: rot90; Aten: rot90");
TRAITS("rot90", .copies_only = true);

OP("tril(Tensor input, int diagonal=0)",
   [](const Bound& args) -> Value { return triangle(args.var("input"), args.integer("diagonal"), true); });
NAMES("tril", "Torch: tril; Tensor: tril tril_; Aten: tril tril_; Mint: tril");
TRAITS("tril", .copies_only = true);

OP("triu(Tensor input, int diagonal=0)",
   [](const Bound& args) -> Value { return triangle(args.var("input"), args.integer("diagonal"), false); });
NAMES("triu", "Torch: triu; Tensor: triu triu_; Aten: triu triu_; Mint: triu");
TRAITS("triu", .copies_only = true);

OP("diag(Tensor input, int diagonal=0)",
   [](const Bound& args) -> Value { return diag(args.var("input"), args.integer("diagonal")); });
NAMES("diag", "Torch: diag; Tensor: diag; Aten: diag");
TRY_FIRST("diag", Trial::of_sizes);
TRAITS("diag", .copies_only = true);

OP("diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1)", [](const Bound& args) -> Value {
  return diagonal(args.var("input"), args.integer("offset"), args.integer("dim1"), args.integer("dim2"));
});
OP("diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)", [](const Bound& args) -> Value {
  return diagonal(args.var("A"), args.integer("offset"), args.integer("dim1"), args.integer("dim2"));
});
NAMES("diagonal", "Torch: diagonal; Tensor: diagonal; Aten: diagonal diagonal_copy");
TRAITS("diagonal", .copies_only = true);

OP("linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)", [](const Bound& args) -> Value {
  return diagonal(args.var("A"), args.integer("offset"), args.integer("dim1"), args.integer("dim2"));
});
NAMES("linalg_diagonal", "Torch: linalg.diagonal");
TRAITS("linalg_diagonal", .copies_only = true);

OP("diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1)", [](const Bound& args) -> Value {
  return diag_embed(args.var("input"), args.integer("offset"), args.integer("dim1"), args.integer("dim2"));
});
NAMES("diag_embed", "Torch: diag_embed; Tensor: diag_embed; Aten: diag_embed");
TRY_FIRST("diag_embed", Trial::of_sizes);
TRAITS("diag_embed", .copies_only = true);

OP("diagflat(Tensor input, int offset=0)", [](const Bound& args) -> Value {
  return diag_embed(reshape(args.var("input"), {-1}), args.integer("offset"), 0, 1);
});
NAMES("diagflat", "Torch: diagflat; Tensor: diagflat");
TRY_FIRST("diagflat", Trial::of_sizes);
TRAITS("diagflat", .copies_only = true);

OP("select(Tensor input, int dim, int index)",
   [](const Bound& args) -> Value { return select(args.var("input"), args.integer("dim"), args.integer("index")); });
NAMES("select", "Torch: select; Tensor: select; Aten: select; Mint: select");
TRAITS("select", .copies_only = true);

OP("narrow(Tensor input, int dim, int start, int length)", [](const Bound& args) -> Value {
  return narrow(args.var("input"), args.integer("dim"), args.integer("start"), args.integer("length"));
});
NAMES("narrow", "Torch: narrow narrow_copy; Tensor: narrow narrow_copy; Aten: narrow_copy; Mint: narrow");
TRAITS("narrow", .copies_only = true);

OP("slice(Tensor input, int dim=0, int? start=None, int? end=None, int step=1)", [](const Bound& args) -> Value {
  return python_slice(args.var("input"), args.integer("dim"), args.optional_integer("start"),
                      args.optional_integer("end"), args.integer("step"));
});
NAMES("slice", "Aten: slice");
TRAITS("slice", .copies_only = true);

OP("unfold(Tensor input, int dimension, int size, int step)", [](const Bound& args) -> Value {
  return windows(args.var("input"), args.integer("dimension"), args.integer("size"), args.integer("step"));
});
NAMES("unfold", "Tensor: unfold; Aten: unfold unfold_copy");
TRY_FIRST("unfold", Trial::of_sizes);
TRAITS("unfold", .copies_only = true, .half_sums = HalfSums::gradients);

}  // namespace msrun
