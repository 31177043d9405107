// Views, joins, copies in another shape, and indexing. Functions that fill the table are as long as it has
// entries: each entry is data that concerns no other.
#include "tests/kernels/ops/gradient_sweep.h"

namespace msrun::testing {
namespace {

using Make = std::function<SweepCall(Draw&)>;

std::int64_t rank_of(const Tensor& tensor) { return tensor.rank(); }

SweepCall any_tensor(Draw& draw) { return {{draw.uniform(draw.shape(0, 3))}}; }
SweepCall at_axis(Draw& draw) {
  const Tensor x = draw.uniform(draw.shape(1, 3));
  return {{x, i(draw.axis(rank_of(x)))}};
}

// Tensors of one shape but along an axis; every one is differentiated.
SweepCall joined(Draw& draw, std::int64_t axis, std::int64_t rank, bool equal) {
  Dims shape = draw.shape(rank, rank);
  List parts;
  for (std::int64_t k = 0; k < draw.integer(1, 3) + 1; ++k) {
    if (!equal) shape[static_cast<std::size_t>(axis)] = draw.integer(1, 3);
    parts.emplace_back(draw.uniform(shape));
  }
  return {{parts}};
}

// A shape with the given size at one axis.
Dims with_size(Draw& draw, std::int64_t rank, std::size_t axis, std::int64_t size) {
  Dims shape = draw.shape(rank, rank);
  shape[axis] = size;
  return shape;
}

// An index for gather and scatter: nowhere larger than x but along axis.
Tensor index_for(Draw& draw, const Dims& x, std::int64_t axis, bool once) {
  const auto along = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis);
  Dims shape = x;
  for (std::int64_t& size : shape) size = draw.integer(1, size);
  if (!once) {
    shape[along] = draw.integer(1, 4);
    return draw.integers(shape, 0, x[along] - 1);
  }
  // No place is named twice.
  Tensor index(DType::int64, shape);
  const Dims strides = row_major_strides(shape);
  const Dims order = draw.permutation(x[along]);
  for (std::int64_t k = 0; k < index.numel(); ++k)
    index.mutable_data<std::int64_t>()[k] = order[static_cast<std::size_t>(k / strides[along] % shape[along])];
  return index;
}

void views(SweepTable& table) {
  for (const char* name : {"ravel", "expand", "flatten", "squeeze", "atleast_1d", "to", "type_cast"}) {
    if (std::string(name) == "expand") {
      table.push_back({name, "", [](Draw& draw) -> SweepCall {
                         const Dims shape = draw.shape(0, 3);
                         return {{draw.uniform(draw.broadcastable(shape)), ints(shape)}};
                       }});
    } else if (std::string(name) == "to") {
      table.push_back({name, "", [](Draw& draw) -> SweepCall {
                         return {{draw.uniform(draw.shape(0, 3)), DType::float64}};
                       }});
    } else {
      table.push_back({name, std::string(name) == "type_cast" ? "Tensor.double" : "", any_tensor});
    }
  }
  table.push_back({"atleast_1d", "Torch.atleast_3d", any_tensor});
  table.push_back({"broadcast_to", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(draw.broadcastable(shape)), ints(shape)}};
                   }});
  table.push_back({"sum_to_size", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(1, 3);
                     Dims smaller = draw.broadcastable(shape);
                     if (smaller.empty()) smaller = {1};
                     return {{draw.uniform(shape), ints(smaller)}};
                   }});
  for (const char* name : {"reshape", "view"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       const Tensor x = draw.uniform({2, 3, 4}).contiguous();
                       const std::vector<Dims> shapes{{24}, {4, 6}, {-1, 3}, {2, 1, 12}, {6, -1, 2}};
                       return {{x, ints(shapes[static_cast<std::size_t>(draw.integer(0, 4))])}};
                     }});
  }
  for (const char* name : {"reshape_as", "view_as"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       return {{draw.uniform({2, 6}).contiguous(), draw.integers({3, 4}, 0, 1)}};
                     }});
  }
  table.push_back({"expand_as", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(draw.broadcastable(shape)), draw.integers(shape, 0, 1)}};
                   }});
  table.push_back({"type_as", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(0, 3)), draw.uniform({2})}, {}, {1}};
                   }});
  table.push_back({"permute", "", [](Draw& draw) -> SweepCall {
                     const Tensor x = draw.uniform(draw.shape(0, 4));
                     return {{x, ints(draw.permutation(rank_of(x)))}};
                   }});
  table.push_back({"transpose", "Torch.transpose", [](Draw& draw) -> SweepCall {
                     const Tensor x = draw.uniform(draw.shape(1, 3));
                     return {{x, i(draw.axis(rank_of(x))), i(draw.axis(rank_of(x)))}};
                   }});
  table.push_back(
      {"transpose", "Tensor.adjoint", [](Draw& draw) -> SweepCall { return {{draw.uniform(draw.shape(2, 3))}}; }});
  table.push_back({"t", "", [](Draw& draw) -> SweepCall { return {{draw.uniform(draw.shape(0, 2))}}; }});
  table.push_back({"movedim", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(3, 3)), ints({0, 2}), ints({draw.flag() ? 2 : 1, 0})}};
                   }});
  table.push_back({"unsqueeze", "", at_axis});
  table.push_back({"unbind", "", at_axis});
  table.push_back({"select", "", [](Draw& draw) -> SweepCall {
                     const Tensor x = draw.uniform(draw.shape(1, 3));
                     const std::int64_t axis = draw.axis(rank_of(x));
                     return {{x, i(axis), i(draw.integer(-x.size(axis), x.size(axis) - 1))}};
                   }});
  for (const char* name : {"narrow", "narrow_copy"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       const Tensor x = draw.uniform(draw.shape(1, 3));
                       const std::int64_t axis = draw.axis(rank_of(x));
                       const std::int64_t start = draw.integer(0, x.size(axis) - 1);
                       return {{x, i(axis), i(start), i(draw.integer(1, x.size(axis) - start))}};
                     }});
  }
  table.push_back({"unflatten", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(with_size(draw, 2, 1, 6)), i(draw.flag() ? 1 : -1), ints({2, -1})}};
                   }});
  table.push_back(
      {"unfold", "", [](Draw& draw) -> SweepCall {
         return {{draw.uniform(with_size(draw, 3, 1, 7)), i(1), i(draw.integer(1, 4)), i(draw.integer(1, 3))}};
       }});
  table.push_back({"diagonal", "", [](Draw& draw) -> SweepCall { return {{draw.uniform(draw.shape(2, 3)), i(0)}}; }});
  table.push_back({"diagonal", "Torch.diagonal", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2, 4}), i(draw.integer(-1, 1)), i(2), i(draw.integer(0, 1))}};
                   }});
  table.push_back({"npu_confusion_transpose", "", [](Draw& draw) -> SweepCall {
                     if (draw.flag()) return {{draw.uniform({2, 3, 4}), ints({0, 2, 1}), ints({2, 12}), true}};
                     return {{draw.uniform({2, 3, 4}), ints({1, 0}), ints({6, 4}), false}};
                   }});
}

void rearranged(SweepTable& table) {
  table.push_back({"flip", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(2, 3)), ints({draw.integer(0, 1) - 2})}};
                   }});
  table.push_back({"roll", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(2, 3)), ints({draw.integer(-5, 5), 1}), ints({0, 1})}};
                   }});
  table.push_back({"rot90", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(2, 3)), i(draw.integer(-4, 4)), ints({1, 0})}};
                   }});
  for (const char* name : {"repeat", "tile"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       return {{draw.uniform(draw.shape(0, 2)), ints({draw.integer(1, 2), draw.integer(1, 3)})}};
                     }});
  }
  table.push_back({"repeat_interleave", "", [](Draw& draw) -> SweepCall {
                     const Tensor x = draw.uniform(draw.shape(1, 3));
                     const std::int64_t axis = draw.axis(rank_of(x));
                     return {{x, draw.integers({x.size(axis)}, 0, 2), i(axis)}};
                   }});
  for (const char* name : {"tril", "triu"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       return {{draw.uniform(draw.shape(2, 3)), i(draw.integer(-2, 2))}};
                     }});
  }
  table.push_back({"diag", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.flag() ? Dims{3} : Dims{3, 4}), i(draw.integer(-1, 1))}};
                   }});
  table.push_back({"diagflat", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(0, 2)), i(draw.integer(-1, 1))}};
                   }});
  table.push_back({"diag_embed", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(1, 2)), i(draw.integer(-1, 1))}};
                   }});
  table.push_back({"pad", "", [](Draw& draw) -> SweepCall {
                     const std::vector<const char*> modes{"constant", "reflect", "replicate", "circular"};
                     return {{draw.uniform({2, 1, 4}), ints({draw.integer(-1, 3), draw.integer(-1, 2)}),
                              text(modes[static_cast<std::size_t>(draw.integer(0, 3))])}};
                   }});
  table.push_back({"pixel_shuffle", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({draw.integer(1, 2), 4, 2, draw.integer(1, 3)}), i(2)}};
                   }});
  table.push_back({"pixel_unshuffle", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({draw.integer(1, 2), 2, 4, 2}), i(2)}};
                   }});
  table.push_back({"channel_shuffle", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({2, 6, draw.integer(1, 3), 2}), i(draw.integer(2, 3))}};
                   }});
  table.push_back({"unfold_im2col", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({1, 2, 4, 5}), ints({2, draw.integer(1, 2)}), i(draw.integer(1, 2)),
                              i(draw.integer(0, 1)), ints({draw.integer(1, 2), 1})}};
                   }});
  table.push_back({"fold", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({2, 8, 6}), ints({3, 4}), i(2)}};
                   }});
}

void joins(SweepTable& table) {
  table.push_back({"cat", "", [](Draw& draw) -> SweepCall {
                     const std::int64_t axis = draw.integer(0, 1);
                     SweepCall call = joined(draw, axis, 2, false);
                     call.args.push_back(i(axis - 2));
                     return call;
                   }});
  table.push_back({"stack", "", [](Draw& draw) -> SweepCall {
                     SweepCall call = joined(draw, 0, draw.integer(0, 2), true);
                     call.args.push_back(i(draw.integer(-1, 0)));
                     return call;
                   }});
  table.push_back({"vstack", "", [](Draw& draw) { return joined(draw, 0, 2, false); }});
  table.push_back({"hstack", "", [](Draw& draw) { return joined(draw, 1, 2, false); }});
  table.push_back({"dstack", "", [](Draw& draw) { return joined(draw, 2, 3, false); }});
  table.push_back({"column_stack", "", [](Draw& draw) { return joined(draw, 0, 1, true); }});
  table.push_back({"block_diag", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(0, 2)), draw.uniform(draw.shape(2, 2)), draw.uniform({3})}};
                   }});
  table.push_back({"broadcast_tensors", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(1, 3);
                     return {{draw.uniform(shape), draw.uniform(draw.broadcastable(shape))}};
                   }});
  table.push_back({"cartesian_prod", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(1, 1)), draw.uniform(draw.shape(1, 1)), draw.uniform({2})}};
                   }});
  table.push_back({"chunk", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(2, 3)), i(draw.integer(1, 3)), i(draw.integer(-2, 1))}};
                   }});
  table.push_back({"split", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({4, 3}), draw.flag() ? ints({1, 3}) : i(draw.integer(1, 3)), i(0)}};
                   }});
  table.push_back({"tensor_split", "Torch.tensor_split", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({4, 3}), draw.flag() ? ints({1, 3}) : i(draw.integer(1, 3)), i(0)}};
                   }});
}

void indexed(SweepTable& table) {
  table.push_back({"getitem", "", [](Draw& draw) -> SweepCall {
                     const Tensor x = draw.uniform({3, 4, 2});
                     const std::vector<Value> forms{
                         i(-1),
                         Slice{-3, std::nullopt, 2},
                         List{Ellipsis{}, i(1)},
                         List{Slice{1, std::nullopt, std::nullopt}, None{}, ints({3, 0, 3})},
                         List{draw.integers({2, 1}, -3, 2), Slice{}, draw.integers({3}, 0, 1)},
                         List{draw.mask({3, 4}), i(0)},
                         draw.mask({3})};
                     return {{x, forms[static_cast<std::size_t>(draw.integer(0, 6))]}};
                   }});
  table.push_back({"gather", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(1, 3);
                     const std::int64_t axis = draw.axis(static_cast<std::int64_t>(shape.size()));
                     return {{draw.uniform(shape), i(axis), index_for(draw, shape, axis, false)}};
                   }});
  table.push_back({"scatter", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(1, 3);
                     const std::int64_t axis = draw.axis(static_cast<std::int64_t>(shape.size()));
                     return {{draw.uniform(shape), i(axis), index_for(draw, shape, axis, true), draw.uniform(shape)}};
                   }});
  table.push_back({"scatter_add", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(1, 3);
                     const std::int64_t axis = draw.axis(static_cast<std::int64_t>(shape.size()));
                     const Tensor index = index_for(draw, shape, axis, false);
                     return {{draw.uniform(shape), i(axis), index, draw.uniform(index.shape())}};
                   }});
  table.push_back({"take", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), draw.integers(draw.shape(0, 2), -12, 11)}};
                   }});
  table.push_back({"take_along_dim", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), draw.integers({draw.flag() ? 3 : 1, 2}, 0, 3), i(1)}};
                   }});
  table.push_back({"put", "", [](Draw& draw) -> SweepCall {
                     Dims places = draw.permutation(12);
                     places.resize(3);
                     const Tensor index = int64({3}, {places[0], places[1] - 12, places[2]});
                     return {{draw.uniform({3, 4}), index, draw.uniform({3}), draw.flag()}};
                   }});
  table.push_back({"index_select", "", [](Draw& draw) -> SweepCall {
                     const Tensor x = draw.uniform(draw.shape(1, 3));
                     const std::int64_t axis = draw.axis(rank_of(x));
                     return {{x, i(axis), draw.integers({draw.integer(1, 4)}, 0, x.size(axis) - 1)}};
                   }});
  table.push_back({"index_add", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), i(1), draw.integers({2}, 0, 3), draw.uniform({3, 2})},
                             {{"alpha", draw.real(-2, 2)}}};
                   }});
  table.push_back({"index_copy", "", [](Draw& draw) -> SweepCall {
                     Dims places = draw.permutation(4);
                     return {{draw.uniform({3, 4}), i(-1), int64({2}, {places[0], places[1]}), draw.uniform({3, 2})}};
                   }});
  table.push_back({"index_fill", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), i(1), draw.integers({3}, 0, 3), draw.uniform({})}};
                   }});
  table.push_back({"index_put", "", [](Draw& draw) -> SweepCall {
                     const List all{draw.integers({2}, 0, 2), draw.integers({2}, 0, 3)};
                     return {{draw.uniform({3, 4}), all, draw.uniform({2}), true}};
                   }});
  table.push_back({"diagonal_scatter", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), draw.uniform({3}), i(draw.integer(0, 1))}};
                   }});
  table.push_back({"slice_scatter", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), draw.uniform({3, 2}), i(1), i(draw.integer(0, 1)), i(4), i(2)}};
                   }});
  table.push_back({"embedding", "", [](Draw& draw) -> SweepCall {
                     return {{draw.integers(draw.shape(0, 2), 0, 3), draw.uniform({4, 3})}};
                   }});
  table.push_back({"embedding_bag", "", [](Draw& draw) -> SweepCall {
                     const std::vector<const char*> modes{"sum", "mean", "max"};
                     return {{draw.integers({5}, 0, 3), draw.distinct({4, 3}), int64({3}, {0, 2, 4})},
                             {{"mode", text(modes[static_cast<std::size_t>(draw.integer(0, 2))])}}};
                   }});
}

}  // namespace

SweepTable shape_sweep() {
  SweepTable table;
  views(table);
  rearranged(table);
  joins(table);
  indexed(table);
  return table;
}

}  // namespace msrun::testing
