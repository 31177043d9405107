// Operators that read or write the elements an index names.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/selection.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/index/fitting_masks.h"
#include "kernels/ops/index/fitting_values.h"
#include "kernels/ops/index/subscript.h"

namespace msrun {
namespace {

using SharedSelection = std::shared_ptr<const Selection>;

SharedSelection share(Selection selection) { return std::make_shared<const Selection>(std::move(selection)); }

Var take(const Var& x, const SharedSelection& selection) {
  return x.tape().record(take(x.tensor(), *selection),
                         {{x, [shape = x.shape(), selection, &context = x.context()](const Tensor& g) {
                             return take_vjp(g, shape, *selection, context);
                           }}});
}

// A view of source, which is x made row-major.
Var take_view(const Var& x, const Tensor& source, const Tensor& view) {
  return x.tape().record(view, {{x, [source, view, &context = x.context()](const Tensor& g) {
                                   return take_vjp(g, source.shape(), view_selection(source, view), context);
                                 }}});
}

// Values in the dtype of x, without leading axes of size 1 that the selection does not have.
Var fitted(const Var& values, const Var& x, const Selection& selection) {
  Dims shape = values.shape();
  while (shape.size() > selection.shape.size() && shape.front() == 1) shape.erase(shape.begin());
  const Var cast_values = cast(values, x.dtype());
  return shape == values.shape() ? cast_values : reshape(cast_values, shape);
}

Var put(const Var& x, const SharedSelection& selection, const Var& given) {
  const Var values = fitted(given, x, *selection);
  if (Choices* choices = x.context().choices()) choices->writes = Writes{selection, values.tensor()};
  return x.tape().record(put(x.tensor(), *selection, values.tensor()),
                         {{x, [selection](const Tensor& g) { return put_vjp(g, *selection); }},
                          {values, [selection, shape = values.shape(), &context = x.context()](const Tensor& g) {
                             return sum_to(take(g, *selection), shape, context.with_sound_arithmetic());
                           }}});
}

Var put_sum(const Var& x, const SharedSelection& selection, const Var& given, double alpha) {
  const Var values = fitted(given, x, *selection);
  return x.tape().record(put_sum(x.tensor(), *selection, values.tensor(), alpha, x.context()),
                         {{x, [](const Tensor& g) { return g; }},
                          {values, [selection, alpha, shape = values.shape(), &context = x.context()](const Tensor& g) {
                             const Tensor taken =
                                 map(g.dtype(), take(g, *selection),
                                     complex_too([alpha](auto v) { return static_cast<decltype(v)>(alpha) * v; }));
                             return sum_to(taken, shape, context.with_sound_arithmetic());
                           }}});
}

Selection mask_selection(const Dims& shape, const Tensor& mask) {
  if (mask.dtype() != DType::boolean && mask.dtype() != DType::uint8)
    throw SkipError("A mask must have the dtype bool.");
  Selection selection;
  selection.starts = nonzero_positions(mask.expand(shape));
  selection.shape = {static_cast<std::int64_t>(selection.starts.size())};
  return selection;
}

// One row of coordinates per element that is not zero.
Tensor coordinates(const Tensor& x) {
  const std::vector<std::int64_t> positions = nonzero_positions(x);
  const Dims strides = row_major_strides(x.shape());
  Tensor result(DType::int64, {static_cast<std::int64_t>(positions.size()), x.rank()});
  auto* target = result.mutable_data<std::int64_t>();
  for (const std::int64_t position : positions) {
    for (std::size_t axis = 0; axis < strides.size(); ++axis) *target++ = position / strides[axis] % x.shape()[axis];
  }
  return result;
}

// One index vector per axis; a 0-d tensor counts as a vector.
Value coordinates_by_axis(Tape& tape, const Tensor& x) {
  const Tensor rows = coordinates(x.rank() == 0 ? x.reshape(Dims{1}) : x);
  List columns;
  for (std::int64_t axis = 0; axis < rows.size(1); ++axis)
    columns.push_back(tape.constant(rows.select(1, axis).contiguous()));
  return columns;
}

Var masked_fill(const Var& x, const Var& mask, const Var& value) {
  if (mask.dtype() != DType::boolean && mask.dtype() != DType::uint8)
    throw SkipError("A mask must have the dtype bool.");
  if (value.rank() != 0) throw SkipError("masked_fill takes a number or a 0-d tensor.");
  const Tensor& m = mask.tensor();
  const Tensor y = map_as(compute_of(x.dtype()), x.dtype(), x.tensor(), m, value.tensor(),
                          complex_too([](auto v, auto set, auto fill) { return set != decltype(set){0} ? fill : v; }));
  const auto kept = complex_too([](auto set, auto g) { return set != decltype(set){0} ? decltype(g){0} : g; });
  const auto filled = complex_too([](auto set, auto g) { return set != decltype(set){0} ? g : decltype(g){0}; });
  return x.tape().record(y, {{x,
                              [m, kept, shape = x.shape(), &context = x.context()](const Tensor& g) {
                                return sum_to(map(g.dtype(), m, g, kept), shape, context.with_sound_arithmetic());
                              }},
                             {value, [m, filled, &context = x.context()](const Tensor& g) {
                                return sum(map(g.dtype(), m, g, filled), {}, false, context.with_sound_arithmetic());
                              }}});
}

Var multiply_at(const Var& x, const SharedSelection& selection, const Var& values) {
  const DType wide = wide_dtype(x.dtype());
  const Tensor factors = values.tensor().to(wide).expand(selection->shape).contiguous();
  Tensor result = x.tensor().to(wide).clone();
  const auto run = [&](auto one) {
    using T = decltype(one);
    const T* factor = factors.data<T>();
    T* to = result.mutable_data<T>();
    for (const std::int64_t at : selection->starts) to[at] = wrapping_mul(to[at], *factor++);
  };
  switch (wide) {
    case DType::float32:
      run(float{});
      break;
    case DType::float64:
      run(double{});
      break;
    default:
      run(std::int64_t{});
      break;
  }
  return x.tape().constant(result.to(x.dtype()));
}

Value scatter(const Bound& args, const Var& src) {
  const Var x = args.var("input");
  const Tensor index = args.var("index").tensor();
  const SharedSelection selection = share(gather_selection(x.shape(), args.integer("dim"), index));
  const Var values = src.is_number() ? src : leading_part(src, index.shape());
  if (!args.given("reduce")) return put(x, selection, values);
  const std::string& reduce = args.text("reduce");
  if (reduce == "add") return put_sum(x, selection, values, 1);
  if (reduce == "multiply") return multiply_at(x, selection, values);
  throw SkipError("scatter: reduce must be 'add' or 'multiply'.");
}

SharedSelection slices(const Bound& args, const Var& x) {
  return share(slices_selection(x.shape(), args.integer("dim"), args.var("index").tensor(), false));
}

Var getitem(const Var& x, const Value& index) {
  const Subscript subscript = make_subscript(x.tensor(), index);
  return subscript.advanced ? take(x, share(subscript_selection(subscript)))
                            : take_view(x, subscript.source, subscript.view);
}

Var setitem(const Var& x, const Value& index, const Var& value) {
  return put(x, share(subscript_selection(make_subscript(x.tensor(), index))), value);
}

// x with one of its views replaced.
Value put_view(const Bound& args, const Var& x, const Tensor& source, const Tensor& view) {
  const Var src = args.var("src");
  if (!(src.shape() == view.shape())) {
    throw SkipError("src must have the shape " + tuple_text(view.shape()) + " of the part it replaces, not " +
                    tuple_text(src.shape()) + ".");
  }
  return put(x, share(view_selection(source, view)), src);
}

Tensor diagonal_view(const Tensor& source, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const std::int64_t a = normalize_axis(dim1, source.rank());
  const std::int64_t b = normalize_axis(dim2, source.rank());
  if (a == b || source.rank() < 2) throw SkipError("The dimensions of a diagonal must differ.");
  const auto first = static_cast<std::size_t>(a);
  const auto second = static_cast<std::size_t>(b);
  const std::int64_t below = std::max<std::int64_t>(-std::max(offset, -source.size(a)), 0);
  const std::int64_t right = std::max<std::int64_t>(std::min(offset, source.size(b)), 0);
  const std::int64_t length = std::max<std::int64_t>(std::min(source.size(a) - below, source.size(b) - right), 0);
  Dims shape;
  Dims strides;
  for (std::size_t axis = 0; axis < source.shape().size(); ++axis) {
    if (axis == first || axis == second) continue;
    shape.push_back(source.shape()[axis]);
    strides.push_back(source.strides()[axis]);
  }
  shape.push_back(length);
  strides.push_back(source.strides()[first] + source.strides()[second]);
  const std::int64_t start = length == 0 ? 0 : below * source.strides()[first] + right * source.strides()[second];
  return source.with_strides(shape, strides, start);
}

Tensor one_hot(const Tensor& x, std::int64_t classes) {
  const Tensor values = index_values(x);
  const auto* from = values.data<std::int64_t>();
  if (classes == -1) {
    if (x.numel() == 0) throw SkipError("one_hot of an empty tensor needs num_classes.");
    const std::int64_t largest = *std::max_element(from, from + x.numel());
    if (__builtin_add_overflow(largest, 1, &classes)) throw SkipError("one_hot: a class is out of range.");
  }
  if (classes < 1) throw SkipError("one_hot: num_classes must be positive.");
  Dims shape = x.shape();
  shape.push_back(classes);
  Tensor result = Tensor::zeros(DType::int64, shape);
  auto* target = result.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (from[i] < 0 || from[i] >= classes) {
      throw SkipError("one_hot: the class " + std::to_string(from[i]) + " is not in the range of num_classes.");
    }
    target[i * classes + from[i]] = 1;
  }
  return result;
}

}  // namespace

Var leading_part(const Var& src, const Dims& shape) {
  if (src.shape() == shape) return src;
  if (src.shape().size() != shape.size()) throw SkipError("src must have as many dimensions as the index.");
  const Tensor source = src.tensor().contiguous();
  Tensor view = source;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    view = view.slice(static_cast<std::int64_t>(axis), 0, shape[axis]);
  return take_view(src, source, view);
}

Var same_slices(const Var& source, const Selection& selection) {
  if (source.numel() != element_count(selection.shape)) {
    throw SkipError("The source of shape " + tuple_text(source.shape()) + " does not have the shape " +
                    tuple_text(selection.shape) + " of the indexed part.");
  }
  return source.shape() == selection.shape ? source : reshape(source, selection.shape);
}

Var gather(const Var& x, std::int64_t axis, const Tensor& index) {
  return x.tape().record(gather_elements(x.tensor(), axis, index),
                         {{x, [=, shape = x.shape(), &context = x.context()](const Tensor& g) {
                             return gather_elements_vjp(g, shape, axis, index, context);
                           }}});
}

OP("nonzero(Tensor input, *, bool as_tuple=False)", [](const Bound& args) -> Value {
  const Tensor x = args.var("input").tensor();
  if (args.flag("as_tuple")) return coordinates_by_axis(args.tape(), x);
  return args.tape().constant(coordinates(x));
});
NAMES("nonzero", "Torch: nonzero; Tensor: nonzero; Mint: nonzero");
TRAITS("nonzero", .complex = true);

OP("nonzero_static(Tensor input, *, int size, int fill_value=-1)", [](const Bound& args) -> Value {
  const Tensor rows = coordinates(args.var("input").tensor());
  const Tensor result = Tensor::full(DType::int64, Dims{args.integer("size"), rows.size(1)}, args.real("fill_value"));
  const std::int64_t kept = std::min(rows.size(0), result.size(0));
  return args.tape().constant(put(result, view_selection(result, result.slice(0, 0, kept)), rows.slice(0, 0, kept)));
});
NAMES("nonzero_static", "Aten: nonzero_static");

OP("argwhere(Tensor input)",
   [](const Bound& args) -> Value { return args.tape().constant(coordinates(args.var("input").tensor())); });
NAMES("argwhere", "Torch: argwhere; Tensor: argwhere");
TRAITS("argwhere", .complex = true);

OP("masked_fill(Tensor input, Tensor mask, Operand value)",
   [](const Bound& args) -> Value { return masked_fill(args.var("input"), args.var("mask"), args.var("value")); });
NAMES("masked_fill", "Torch: masked_fill; Tensor: masked_fill masked_fill_; Aten: masked_fill masked_fill_");
TRAITS("masked_fill", .copies_only = true);

OP("masked_select(Tensor input, Tensor mask)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Tensor mask = args.var("mask").tensor();
  const Dims shape = broadcast_shapes(x.shape(), mask.shape());
  return take(expand(x, shape), share(mask_selection(shape, mask)));
});
NAMES("masked_select", "Torch: masked_select; Tensor: masked_select; Mint: masked_select");
TRAITS("masked_select", .copies_only = true,
       .backward_refusal = "This API does not support backward ut, skip backward.");

OP("masked_scatter(Tensor input, Tensor mask, Tensor source)", [](const Bound& args) -> Value {
  const Tensor mask = args.var("mask").tensor();
  const Dims shape = broadcast_shapes(args.var("input").shape(), mask.shape());
  const Var x = expand(args.var("input"), shape);
  const Var source = args.var("source");
  if (source.dtype() != x.dtype()) throw SkipError("masked_scatter: input and source must have one dtype.");
  const SharedSelection selection = share(mask_selection(shape, mask));
  if (source.numel() < selection->shape[0])
    throw SkipError("masked_scatter: the source has fewer elements than the mask.");
  return put(x, selection, leading_part(reshape(source, Dims{source.numel()}), selection->shape));
});
NAMES("masked_scatter", "Torch: masked_scatter; Tensor: masked_scatter masked_scatter_");
TRAITS("masked_scatter", .complex = true, .fit = fit_mask_to_source);

OP("one_hot(Tensor input, int num_classes=-1)", [](const Bound& args) -> Value {
  return args.tape().constant(one_hot(args.var("input").tensor(), args.integer("num_classes")));
});
OP("one_hot(Tensor tensor, int num_classes=-1)", [](const Bound& args) -> Value {
  return args.tape().constant(one_hot(args.var("tensor").tensor(), args.integer("num_classes")));
});
NAMES("one_hot", "Functional: one_hot; Mint: one_hot; MintFunctional: one_hot one_hot_ext");
TRY_FIRST("one_hot", Trial::of_sizes);

OP("gather(Tensor input, int dim, Tensor index, *, bool sparse_grad=False)", [](const Bound& args) -> Value {
  return gather(args.var("input"), args.integer("dim"), args.var("index").tensor());
});
NAMES("gather", "Torch: gather; Tensor: gather; Aten: gather; Mint: gather");
TRAITS("gather", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("take_along_dim(Tensor input, Tensor indices, int? dim=None)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Tensor index = args.var("indices").tensor();
  if (!args.given("dim")) return gather(reshape(x, Dims{x.numel()}), 0, index.reshape(Dims{index.numel()}));
  if (x.rank() != index.rank())
    throw SkipError("take_along_dim: input and indices must have the same number of dimensions.");
  const std::int64_t axis = normalize_axis(args.integer("dim"), x.rank());
  if (x.rank() == 0) return gather(x, axis, index);
  const auto at = static_cast<std::size_t>(axis);
  Dims x_shape = x.shape();
  Dims index_shape = index.shape();
  x_shape[at] = index_shape[at] = 1;
  x_shape = index_shape = broadcast_shapes(x_shape, index_shape);
  x_shape[at] = x.shape()[at];
  index_shape[at] = index.shape()[at];
  return gather(expand(x, x_shape), axis, index.expand(index_shape));
});
NAMES("take_along_dim", "Torch: take_along_dim; Tensor: take_along_dim");
TRAITS("take_along_dim", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("take(Tensor input, Tensor index)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Tensor index = args.var("index").tensor();
  Selection selection = slices_selection({x.numel()}, 0, index.reshape(Dims{index.numel()}), true);
  selection.shape = index.shape();
  return take(x, share(std::move(selection)));
});
NAMES("take", "Torch: take; Tensor: take; Aten: take");
TRAITS("take", .copies_only = true, .half_sums = HalfSums::gradients);

OP("put(Tensor input, Tensor index, Tensor source, bool accumulate=False)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Tensor index = args.var("index").tensor();
  const SharedSelection selection = share(slices_selection({x.numel()}, 0, index.reshape(Dims{index.numel()}), true));
  const Var source = same_slices(args.var("source"), *selection);
  return args.flag("accumulate") ? put_sum(x, selection, source, 1) : put(x, selection, source);
});
NAMES("put", "Tensor: put put_");
TRAITS("put", .complex = true, .overwrites = true, .varies = Varies::results, .half_sums = HalfSums::results);

OP("scatter(Tensor input, int dim, Tensor index, Operand src, *, str? reduce=None)",
   [](const Bound& args) -> Value { return scatter(args, args.var("src")); });
OP("scatter(Tensor input, int dim, Tensor index, Scalar value, *, str? reduce=None)",
   [](const Bound& args) -> Value { return scatter(args, args.var("value")); });
NAMES("scatter", "Torch: scatter; Tensor: scatter scatter_; Aten: scatter scatter_; Mint: scatter");
TRAITS("scatter", .complex = true, .overwrites = true, .varies = Varies::results);

OP("scatter_add(Tensor input, int dim, Tensor index, Tensor src)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Tensor index = args.var("index").tensor();
  const SharedSelection selection = share(gather_selection(x.shape(), args.integer("dim"), index));
  return put_sum(x, selection, leading_part(args.var("src"), index.shape()), 1);
});
NAMES("scatter_add",
      "Torch: scatter_add; Tensor: scatter_add scatter_add_; Aten: scatter_add scatter_add_; Mint: scatter_add");
TRAITS("scatter_add", .complex = true, .varies = Varies::results, .half_sums = HalfSums::results, .element_work = 6);

OP("index_select(Tensor input, int dim, Tensor index)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  return take(x, slices(args, x));
});
NAMES("index_select", "Torch: index_select; Tensor: index_select; Aten: index_select; Mint: index_select");
TRAITS("index_select", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("index_add(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const SharedSelection selection = slices(args, x);
  return put_sum(x, selection, same_slices(args.var("source"), *selection), args.real("alpha"));
});
NAMES("index_add", "Torch: index_add; Tensor: index_add index_add_; Aten: index_add index_add_");
TRAITS("index_add", .complex = true, .varies = Varies::results, .half_sums = HalfSums::results);

OP("index_copy(Tensor input, int dim, Tensor index, Tensor source)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const SharedSelection selection = slices(args, x);
  return put(x, selection, same_slices(args.var("source"), *selection));
});
NAMES("index_copy", "Torch: index_copy; Tensor: index_copy index_copy_; Aten: index_copy index_copy_");
TRAITS("index_copy", .complex = true, .overwrites = true, .varies = Varies::results);

OP("index_fill(Tensor input, int dim, Tensor index, Operand value)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Var value = args.var("value");
  if (value.rank() != 0) throw SkipError("index_fill takes a number or a 0-d tensor.");
  // An element named twice is filled once: its gradient counts once.
  const Tensor index = index_values(args.var("index").tensor()).contiguous();
  if (index.rank() > 1) throw SkipError("index_fill expects an index of at most one dimension.");
  std::vector<std::int64_t> numbers(index.data<std::int64_t>(), index.data<std::int64_t>() + index.numel());
  const std::int64_t size = x.rank() == 0 ? 1 : x.size(args.integer("dim"));
  for (std::int64_t& number : numbers) number += number < 0 ? size : 0;
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  const Tensor once =
      Tensor::from<std::int64_t>(DType::int64, Dims{static_cast<std::int64_t>(numbers.size())}, numbers);
  return put(x, share(slices_selection(x.shape(), args.integer("dim"), once, false)), value);
});
NAMES("index_fill", "Torch: index_fill; Tensor: index_fill index_fill_; Aten: index_fill index_fill_");
TRAITS("index_fill", .copies_only = true);

OP("index_put(Tensor input, any indices, Operand values, bool accumulate=False)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Tensor source = x.tensor().contiguous();
  const SharedSelection selection = share(advanced_selection(source, source, index_list(args.value("indices"))));
  const Var values = args.var("values");
  return args.flag("accumulate") ? put_sum(x, selection, values, 1) : put(x, selection, values);
});
NAMES("index_put",
      "Torch: index_put index_put_; Tensor: index_put index_put_; Aten: index_put index_put_ _unsafe_index_put");
TRAITS("index_put", .complex = true, .overwrites = true, .varies = Varies::results, .half_sums = HalfSums::results,
       .fit = fit_listed_masks_to_values);

OP("index(Tensor input, any indices)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Tensor source = x.tensor().contiguous();
  return take(x, share(advanced_selection(source, source, index_list(args.value("indices")))));
});
NAMES("index", "Aten: index _unsafe_index");
TRAITS("index", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients,
       .fit = fit_listed_masks_to_result);

OP("getitem(Tensor input, any indices)",
   [](const Bound& args) -> Value { return getitem(args.var("input"), args.value("indices")); });
NAMES("getitem", "Tensor: __getitem__");
TRAITS("getitem", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients,
       .fit = fit_masks_to_result);

OP("setitem(Tensor input, any indices, Operand value)",
   [](const Bound& args) -> Value { return setitem(args.var("input"), args.value("indices"), args.var("value")); });
NAMES("setitem", "Tensor: __setitem__");
TRAITS("setitem", .copies_only = true, .overwrites = true, .varies = Varies::results, .returns_nothing = true,
       .fit = fit_masks_to_values);

OP("select_scatter(Tensor input, Tensor src, int dim, int index)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Tensor source = x.tensor().contiguous();
  return put_view(args, x, source, source.select(args.integer("dim"), args.integer("index")));
});
NAMES("select_scatter", "Aten: select_scatter");
TRAITS("select_scatter", .complex = true);

OP("slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1)",
   [](const Bound& args) -> Value {
     const Var x = args.var("input");
     const Tensor source = x.tensor().contiguous();
     const Slice slice{args.optional_integer("start"), args.optional_integer("end"), args.integer("step")};
     return put_view(args, x, source, sliced(source, args.integer("dim"), slice));
   });
NAMES("slice_scatter", "Tensor: slice_scatter; Aten: slice_scatter");
TRAITS("slice_scatter", .complex = true);

OP("diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Tensor source = x.tensor().contiguous();
  return put_view(args, x, source,
                  diagonal_view(source, args.integer("offset"), args.integer("dim1"), args.integer("dim2")));
});
NAMES("diagonal_scatter", "Torch: diagonal_scatter; Tensor: diagonal_scatter; Aten: diagonal_scatter");
TRAITS("diagonal_scatter", .complex = true);

}  // namespace msrun
