// Operators that join, split and repeat tensors.
#include <algorithm>
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

// A list of any length; Bound::ints is for at most as many numbers as a tensor has dimensions.
std::vector<std::int64_t> long_list(const Bound& args, std::string_view name) {
  std::vector<std::int64_t> result;
  for (const double value : args.reals(name)) result.push_back(number_as<std::int64_t>(value));
  return result;
}

// Tensors without elements may have any size along the other axes.
void refuse_too_many(std::int64_t pieces) {
  if (pieces > std::int64_t{1} << 24) throw SkipError("The tensor would fall into too many pieces.");
}

List as_list(const std::vector<Var>& parts) { return {parts.begin(), parts.end()}; }

Var at_least(const Var& x, std::int64_t rank) {
  const Dims& shape = x.shape();
  if (x.rank() >= rank) return x;
  if (rank == 1) return reshape(x, {1});
  if (rank == 2) return reshape(x, {1, x.numel()});
  if (x.rank() == 2) return reshape(x, {shape[0], shape[1], 1});
  return reshape(x, {1, x.numel(), 1});
}

std::vector<Var> at_least(const std::vector<Var>& parts, std::int64_t rank) {
  std::vector<Var> result;
  for (const Var& part : parts) result.push_back(at_least(part, rank));
  return result;
}

Var hstack(const std::vector<Var>& parts) {
  const std::vector<Var> padded = at_least(parts, 1);
  return cat(padded, !padded.empty() && padded[0].rank() == 1 ? 0 : 1);
}

Var column_stack(const std::vector<Var>& parts) {
  std::vector<Var> columns;
  for (const Var& part : parts) columns.push_back(part.rank() < 2 ? reshape(part, {part.numel(), 1}) : part);
  return cat(columns, 1);
}

Var block_diag(const std::vector<Var>& parts) {
  std::int64_t columns = 0;
  for (const Var& part : parts) {
    if (part.rank() > 2) throw SkipError("block_diag needs tensors of at most two dimensions.");
    columns += at_least(part, 2).size(1);
  }
  std::vector<Var> rows;
  std::int64_t before = 0;
  for (const Var& part : parts) {
    const Var block = at_least(part, 2);
    Tape& tape = part.tape();
    const std::int64_t height = block.size(0);
    const std::int64_t after = columns - before - block.size(1);
    rows.push_back(cat({tape.constant(Tensor::zeros(part.dtype(), Dims{height, before})), block,
                        tape.constant(Tensor::zeros(part.dtype(), Dims{height, after}))},
                       1));
    before += block.size(1);
  }
  return cat(rows, 0);
}

// Pieces of the given sizes, one after the other.
List split_sizes(const Var& x, const std::vector<std::int64_t>& sizes, std::int64_t axis) {
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || __builtin_add_overflow(total, size, &total)) throw SkipError("split: sizes must be non-negative.");
  }
  if (x.rank() == 0 || total != x.size(axis)) {
    throw SkipError("split_with_sizes expects sizes that sum up to the size of the dimension.");
  }
  List parts;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    parts.emplace_back(slice(x, axis, start, size));
    start += size;
  }
  return parts;
}

List split_every(const Var& x, std::int64_t size, std::int64_t axis) {
  if (x.rank() == 0) throw SkipError("split expects at least a 1-dimensional tensor.");
  const std::int64_t extent = x.size(axis);
  if (size < 0 || (size == 0 && extent != 0)) throw SkipError("split expects split_size to be positive.");
  if (size > 0) refuse_too_many(extent / size);
  std::vector<std::int64_t> sizes;
  for (std::int64_t start = 0; start < extent; start += std::min(size, extent - start))
    sizes.push_back(std::min(size, extent - start));
  if (extent == 0) sizes.push_back(0);
  return split_sizes(x, sizes, axis);
}

List chunk(const Var& x, std::int64_t chunks, std::int64_t axis) {
  if (x.rank() == 0) throw SkipError("chunk expects at least a 1-dimensional tensor.");
  if (chunks < 1) throw SkipError("chunk expects chunks to be greater than 0.");
  const std::int64_t extent = x.size(axis);
  if (extent == 0) return List(static_cast<std::size_t>(std::min<std::int64_t>(chunks, 1 << 16)), Value(x));
  return split_every(x, (extent - 1) / chunks + 1, axis);
}

List split_sections(const Var& x, std::int64_t sections, std::int64_t axis) {
  if (x.rank() == 0) throw SkipError("tensor_split expects at least a 1-dimensional tensor.");
  const std::int64_t extent = x.size(axis);
  refuse_too_many(sections);
  if (sections < 1) {
    throw SkipError("tensor_split: the number of sections must be larger than 0.");
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < sections; ++i) sizes.push_back(extent / sections + (i < extent % sections ? 1 : 0));
  return split_sizes(x, sizes, axis);
}

List split_at(const Var& x, const std::vector<std::int64_t>& cuts, std::int64_t axis) {
  if (x.rank() == 0) throw SkipError("tensor_split expects at least a 1-dimensional tensor.");
  const std::int64_t extent = x.size(axis);
  List parts;
  std::int64_t start = 0;
  const auto piece = [&](std::int64_t stop) {
    parts.emplace_back(slice(x, axis, std::min(start, stop), std::max<std::int64_t>(0, stop - start)));
    start = stop;
  };
  for (const std::int64_t cut : cuts) piece(std::clamp<std::int64_t>(cut < 0 ? cut + extent : cut, 0, extent));
  piece(extent);
  return parts;
}

List split_value(const Var& x, const Bound& args, std::string_view name, std::int64_t axis) {
  const Value& value = args.value(name);
  if (value.is<List>()) return split_at(x, long_list(args, name), axis);
  if (const Var* var = value.get<Var>()) {
    if (is_floating(var->dtype()) || var->rank() > 1) throw SkipError("tensor_split needs integer indices.");
    if (var->rank() == 0) return split_sections(x, var->tensor().int_item(), axis);
    std::vector<std::int64_t> cuts;
    const Tensor indices = var->tensor().to(DType::int64).contiguous();
    cuts.assign(indices.data<std::int64_t>(), indices.data<std::int64_t>() + indices.numel());
    return split_at(x, cuts, axis);
  }
  return split_sections(x, args.integer(name), axis);
}

// hsplit, vsplit, dsplit: like tensor_split, but sections must be equal.
Value axis_split(const Bound& args, std::int64_t axis_of_matrix, const char* places) {
  const Var x = args.var("input");
  const std::int64_t axis = axis_of_matrix == 1 && x.rank() == 1 ? 0 : axis_of_matrix;
  if (x.rank() <= axis) throw SkipError("The tensor has too few dimensions to be split along this one.");
  if (const auto* sections = args.value(places).get<std::int64_t>()) {
    if (*sections < 1 || x.size(axis) % *sections != 0)
      throw SkipError("The dimension does not split into equal sections.");
  }
  return split_value(x, args, places, axis);
}

List unbind(const Var& x, std::int64_t axis) {
  if (x.rank() == 0) throw SkipError("unbind expects at least a 1-dimensional tensor.");
  refuse_too_many(x.size(axis));
  List parts;
  for (std::int64_t i = 0; i < x.size(axis); ++i) parts.emplace_back(select(x, axis, i));
  return parts;
}

// Copies side by side: every axis that repeats gets a new axis before it, which is then expanded and merged.
Var repeat(const Var& x, const Dims& repeats) {
  if (repeats.size() < x.shape().size()) {
    throw SkipError("repeat: the number of repeats cannot be smaller than the number of dimensions.");
  }
  const std::size_t added = repeats.size() - x.shape().size();
  Dims separated;
  Dims expanded;
  Dims merged;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t size = i < added ? 1 : x.shape()[i - added];
    if (repeats[i] < 0) throw SkipError("repeat: the number of repeats must not be negative.");
    if (repeats[i] != 1 && size != 1) {
      separated.push_back(1);
      expanded.push_back(repeats[i]);
    }
    separated.push_back(size);
    expanded.push_back(size == 1 ? repeats[i] : size);
    std::int64_t total = 0;
    if (__builtin_mul_overflow(size, repeats[i], &total)) throw SkipError("repeat: the result is too large.");
    merged.push_back(total);
  }
  return reshape(expand(reshape(x, separated), expanded), merged);
}

Var tile(const Var& x, const Dims& counts) {
  Dims repeats;
  for (std::size_t i = counts.size(); i < x.shape().size(); ++i) repeats.push_back(1);
  for (const std::int64_t count : counts) repeats.push_back(count);
  return repeat(x, repeats);
}

Var repeat_runs(const Var& x, std::int64_t axis, const std::vector<std::int64_t>& counts) {
  return x.tape().record(repeat_elements(x.tensor(), axis, counts),
                         {{x, [axis, counts](const Tensor& g) { return sum_runs(g, axis, counts); }}});
}

Var repeat_interleave(const Var& input, const Var& repeats, std::optional<std::int64_t> dim) {
  const Var x = dim && input.rank() > 0 ? input : reshape(input, {input.numel()});
  const std::int64_t axis = normalize_axis(dim.value_or(0), x.rank());
  if (is_floating(repeats.dtype()) || repeats.rank() > 1) {
    throw SkipError("repeat_interleave: repeats must be an integer or a vector of integers.");
  }
  refuse_too_many(x.numel() == 0 ? x.size(axis) : 0);
  const auto extent = static_cast<std::size_t>(x.size(axis));
  if (repeats.numel() == 1) {
    return repeat_runs(x, axis, std::vector<std::int64_t>(extent, repeats.tensor().int_item()));
  }
  const Tensor counts = repeats.tensor().to(DType::int64).contiguous();
  const auto* first = counts.data<std::int64_t>();
  return repeat_runs(x, axis, {first, first + counts.numel()});
}

// Element i occurs repeats[i] times in the result, as its index.
Var indices_of_repeats(const Var& repeats) {
  Tensor indices(DType::int64, repeats.shape());
  for (std::int64_t i = 0; i < indices.numel(); ++i) indices.mutable_data<std::int64_t>()[i] = i;
  return repeat_interleave(repeats.tape().constant(indices), repeats, 0);
}

List broadcast_tensors(const std::vector<Var>& parts) {
  Dims shape;
  for (const Var& part : parts) shape = broadcast_shapes(shape, part.shape());
  List result;
  for (const Var& part : parts) result.emplace_back(expand(part, shape));
  return result;
}

List meshgrid(const std::vector<Var>& parts, const std::string& indexing) {
  if (indexing != "ij" && indexing != "xy") throw SkipError("meshgrid: indexing must be 'ij' or 'xy'.");
  Dims shape;
  for (const Var& part : parts) {
    if (part.rank() > 1) throw SkipError("meshgrid needs tensors of at most one dimension.");
    shape.push_back(part.numel());
  }
  const bool swap = indexing == "xy" && parts.size() > 1;
  List result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Dims own(parts.size(), 1);
    own[i] = parts[i].numel();
    const Var grid = expand(reshape(parts[i], own), shape);
    result.emplace_back(swap ? transpose(grid, 0, 1) : grid);
  }
  return result;
}

template <std::int64_t rank>
Value at_least_operator(const Bound& args) {
  const std::vector<Var> parts = args.vars("tensors");
  if (args.value("tensors").is<List>()) return as_list(at_least(parts, rank));
  return at_least(parts.at(0), rank);
}

}  // namespace

Var cat(const std::vector<Var>& parts, std::int64_t axis) {
  if (parts.empty()) throw SkipError("cat expects a non-empty list of tensors.");
  DType dtype = parts[0].dtype();
  const auto left_out = [](const Var& part) { return part.rank() == 1 && part.numel() == 0; };
  std::vector<Tensor> tensors;
  std::vector<std::int64_t> sizes;  // along the axis; -1 for a part that is left out
  for (const Var& part : parts) {
    dtype = promote(dtype, part.dtype());
    if (!left_out(part)) tensors.push_back(part.tensor());
    sizes.push_back(left_out(part) ? -1 : part.size(axis));
  }
  if (tensors.empty()) tensors.push_back(parts[0].tensor());
  Tensor y = concatenate(dtype, tensors, axis);
  std::vector<bool> wanted;
  for (const Var& part : parts) wanted.push_back(part.requires_grad());
  return parts[0].tape().record(std::move(y), parts, [sizes, wanted, axis](const Tensor& g) {
    std::vector<Tensor> gradients(sizes.size());
    std::int64_t start = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool empty = sizes[i] < 0;
      if (wanted[i]) gradients[i] = empty ? Tensor(g.dtype(), Dims{0}) : g.slice(axis, start, sizes[i]);
      start += empty ? 0 : sizes[i];
    }
    return gradients;
  });
}

Var stack(const std::vector<Var>& parts, std::int64_t axis) {
  std::vector<Var> layers;
  for (const Var& part : parts) {
    if (part.shape() != parts[0].shape()) throw SkipError("stack expects each tensor to be equal size.");
    layers.push_back(unsqueeze(part, axis));
  }
  return cat(layers, axis);
}

OP("cat(Tensor[] tensors, int dim=0)",
   [](const Bound& args) -> Value { return cat(args.vars("tensors"), args.integer("dim")); });
NAMES("cat", "Torch: cat concat concatenate; Aten: cat; Mint: cat cat_ex concat");
TRAITS("cat", .copies_only = true);

OP("stack(Tensor[] tensors, int dim=0)",
   [](const Bound& args) -> Value { return stack(args.vars("tensors"), args.integer("dim")); });
NAMES("stack", "Torch: stack; Aten: stack; Mint: stack");
TRAITS("stack", .copies_only = true);

OP("hstack(Tensor[] tensors)", [](const Bound& args) -> Value { return hstack(args.vars("tensors")); });
NAMES("hstack", "Torch: hstack");
TRAITS("hstack", .copies_only = true);

OP("vstack(Tensor[] tensors)", [](const Bound& args) -> Value { return cat(at_least(args.vars("tensors"), 2), 0); });
NAMES("vstack", "Torch: row_stack vstack");
TRAITS("vstack", .copies_only = true);

OP("dstack(Tensor[] tensors)", [](const Bound& args) -> Value { return cat(at_least(args.vars("tensors"), 3), 2); });
NAMES("dstack", "Torch: dstack");
TRAITS("dstack", .copies_only = true);

OP("column_stack(Tensor[] tensors)", [](const Bound& args) -> Value { return column_stack(args.vars("tensors")); });
NAMES("column_stack", "Torch: column_stack");
TRAITS("column_stack", .copies_only = true);

OP("block_diag(Tensor[]... tensors)", [](const Bound& args) -> Value { return block_diag(args.vars("tensors")); });
NAMES("block_diag", "Torch: block_diag");
TRAITS("block_diag", .copies_only = true);

OP("split(Tensor input, int split_size_or_sections, int dim=0)", [](const Bound& args) -> Value {
  return split_every(args.var("input"), args.integer("split_size_or_sections"), args.integer("dim"));
});
OP("split(Tensor input, int split_size, int dim=0)", [](const Bound& args) -> Value {
  return split_every(args.var("input"), args.integer("split_size"), args.integer("dim"));
});
OP("split(Tensor input, int[] split_size_or_sections, int dim=0)", [](const Bound& args) -> Value {
  return split_sizes(args.var("input"), long_list(args, "split_size_or_sections"), args.integer("dim"));
});
OP("split(Tensor input, int[] split_sizes, int dim=0)", [](const Bound& args) -> Value {
  return split_sizes(args.var("input"), long_list(args, "split_sizes"), args.integer("dim"));
});
OP("split(Tensor input, int[] split_size, int dim=0)", [](const Bound& args) -> Value {
  return split_sizes(args.var("input"), long_list(args, "split_size"), args.integer("dim"));
});
NAMES("split",
      "Torch: split split_with_sizes unsafe_split unsafe_split_with_sizes; Tensor: split split_with_sizes "
      "unsafe_split unsafe_split_with_sizes; Aten: split split_with_sizes unsafe_split "
      "unsafe_split_with_sizes; Mint: split");
TRAITS("split", .copies_only = true);

OP("chunk(Tensor input, int chunks, int dim=0)",
   [](const Bound& args) -> Value { return chunk(args.var("input"), args.integer("chunks"), args.integer("dim")); });
NAMES("chunk", "Torch: chunk unsafe_chunk; Tensor: chunk unsafe_chunk; Aten: unsafe_chunk; Mint: chunk");
TRAITS("chunk", .copies_only = true);

OP("tensor_split(Tensor input, any indices_or_sections, int dim=0)", [](const Bound& args) -> Value {
  return split_value(args.var("input"), args, "indices_or_sections", args.integer("dim"));
});
OP("tensor_split(Tensor input, any sections, int dim=0)",
   [](const Bound& args) -> Value { return split_value(args.var("input"), args, "sections", args.integer("dim")); });
OP("tensor_split(Tensor input, any indices, int dim=0)",
   [](const Bound& args) -> Value { return split_value(args.var("input"), args, "indices", args.integer("dim")); });
OP("tensor_split(Tensor input, any tensor_indices_or_sections, int dim=0)", [](const Bound& args) -> Value {
  return split_value(args.var("input"), args, "tensor_indices_or_sections", args.integer("dim"));
});
NAMES("tensor_split", "Torch: tensor_split; Tensor: tensor_split");
TRAITS("tensor_split", .copies_only = true);

OP("vsplit(Tensor input, any indices_or_sections)",
   [](const Bound& args) { return axis_split(args, 0, "indices_or_sections"); });
OP("vsplit(Tensor input, any indices)", [](const Bound& args) { return axis_split(args, 0, "indices"); });
OP("vsplit(Tensor input, any sections)", [](const Bound& args) { return axis_split(args, 0, "sections"); });
NAMES("vsplit", "Torch: vsplit; Tensor: vsplit");
TRAITS("vsplit", .copies_only = true);

OP("hsplit(Tensor input, any indices_or_sections)",
   [](const Bound& args) { return axis_split(args, 1, "indices_or_sections"); });
OP("hsplit(Tensor input, any indices)", [](const Bound& args) { return axis_split(args, 1, "indices"); });
OP("hsplit(Tensor input, any sections)", [](const Bound& args) { return axis_split(args, 1, "sections"); });
NAMES("hsplit", "Torch: hsplit; Tensor: hsplit");
TRAITS("hsplit", .copies_only = true);

OP("dsplit(Tensor input, any indices_or_sections)",
   [](const Bound& args) { return axis_split(args, 2, "indices_or_sections"); });
OP("dsplit(Tensor input, any indices)", [](const Bound& args) { return axis_split(args, 2, "indices"); });
OP("dsplit(Tensor input, any sections)", [](const Bound& args) { return axis_split(args, 2, "sections"); });
NAMES("dsplit", "Torch: dsplit; Tensor: dsplit");
TRAITS("dsplit", .copies_only = true);

OP("unbind(Tensor input, int dim=0)",
   [](const Bound& args) -> Value { return unbind(args.var("input"), args.integer("dim")); });
NAMES("unbind", "Torch: unbind; Tensor: unbind; Aten: unbind");
TRAITS("unbind", .copies_only = true);

OP("expand(Tensor input, int[]... size)",
   [](const Bound& args) -> Value { return expand(args.var("input"), args.ints("size")); });
OP("expand(Tensor input, int[] size, *, bool implicit=False)",
   [](const Bound& args) -> Value { return expand(args.var("input"), args.ints("size")); });
NAMES("expand", "Torch: broadcast_to; Tensor: expand broadcast_to; Aten: expand; Mint: broadcast_to");
TRY_FIRST("expand", Trial::of_sizes);
TRAITS("expand", .copies_only = true);

OP("expand_as(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return expand(args.var("input"), args.var("other").shape()); });
NAMES("expand_as", "Tensor: expand_as");
TRY_FIRST("expand_as", Trial::of_sizes);
TRAITS("expand_as", .copies_only = true, .recorded_gradients = RecordedGradients::of_passed_input);

OP("broadcast_tensors(Tensor[]... tensors)",
   [](const Bound& args) -> Value { return broadcast_tensors(args.vars("tensors")); });
NAMES("broadcast_tensors", "Torch: broadcast_tensors; Aten: broadcast_tensors");
TRY_FIRST("broadcast_tensors", Trial::of_sizes);
TRAITS("broadcast_tensors", .copies_only = true);

OP("meshgrid(Tensor[]... tensors, *, str indexing='ij')",
   [](const Bound& args) -> Value { return meshgrid(args.vars("tensors"), args.text("indexing")); });
NAMES("meshgrid", "Torch: meshgrid; Aten: meshgrid; Mint: meshgrid");
TRY_FIRST("meshgrid", Trial::of_sizes);
TRAITS("meshgrid", .copies_only = true);

OP("repeat(Tensor input, int[]... repeats)",
   [](const Bound& args) -> Value { return repeat(args.var("input"), args.ints("repeats")); });
OP("repeat(Tensor input, int[]... sizes)",
   [](const Bound& args) -> Value { return repeat(args.var("input"), args.ints("sizes")); });
NAMES("repeat", "Tensor: repeat; Aten: repeat");
TRY_FIRST("repeat", Trial::of_sizes);
TRAITS("repeat", .copies_only = true);

OP("tile(Tensor input, int[]... dims)",
   [](const Bound& args) -> Value { return tile(args.var("input"), args.ints("dims")); });
NAMES("tile", "Torch: tile; Tensor: tile; Mint: tile");
TRY_FIRST("tile", Trial::of_sizes);
TRAITS("tile", .copies_only = true);

OP("repeat_interleave(Tensor repeats, *, int? output_size=None)",
   [](const Bound& args) -> Value { return indices_of_repeats(args.var("repeats")); });
OP("repeat_interleave(Tensor input, Operand repeats, int? dim=None, *, int? output_size=None)",
   [](const Bound& args) -> Value {
     return repeat_interleave(args.var("input"), args.var("repeats"), args.optional_integer("dim"));
   });
NAMES("repeat_interleave",
      "Torch: repeat_interleave; Tensor: repeat_interleave; Aten: repeat_interleave; Mint: repeat_interleave");
TRY_FIRST("repeat_interleave", Trial::of_sizes);
TRAITS("repeat_interleave", .copies_only = true, .varies = Varies::gradients,
       .backward_refusal = "This API does not have backward input data, skip backward.");

OP("atleast_1d(Tensor tensors)", at_least_operator<1>);
OP("atleast_1d(Tensor[]... tensors)", at_least_operator<1>);
NAMES("atleast_1d", "Torch: atleast_1d");
TRAITS("atleast_1d", .copies_only = true);

OP("atleast_2d(Tensor tensors)", at_least_operator<2>);
OP("atleast_2d(Tensor[]... tensors)", at_least_operator<2>);
NAMES("atleast_2d", "Torch: atleast_2d");
TRAITS("atleast_2d", .copies_only = true);

OP("atleast_3d(Tensor tensors)", at_least_operator<3>);
OP("atleast_3d(Tensor[]... tensors)", at_least_operator<3>);
NAMES("atleast_3d", "Torch: atleast_3d");
TRAITS("atleast_3d", .copies_only = true);

}  // namespace msrun
