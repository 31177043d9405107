// Rows of a table by index, and sums, means and maxima of bags of them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/selection.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/fitting_numbers.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/index/fitting_order.h"

namespace msrun {
namespace {

struct Lookup {
  std::optional<std::int64_t> padding;  // row without gradient
  bool scale_by_frequency = false;      // a row's gradient is divided by the number of its uses
};

// 1 / (number of times the index occurs), per occurrence.
Tensor inverse_frequencies(const Tensor& indices, std::int64_t rows) {
  std::vector<std::int64_t> uses(static_cast<std::size_t>(rows));
  const auto* from = indices.data<std::int64_t>();
  for (std::int64_t i = 0; i < indices.numel(); ++i) ++uses[static_cast<std::size_t>(from[i])];
  Tensor result(DType::float64, indices.shape());
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    result.mutable_data<double>()[i] = 1.0 / static_cast<double>(uses[static_cast<std::size_t>(from[i])]);
  }
  return result;
}

Var look_up(const Var& weight, const Tensor& given, const Lookup& lookup) {
  if (weight.rank() != 2) throw SkipError("embedding: the weight must have two dimensions.");
  const Tensor indices = index_values(given);
  Selection rows = slices_selection(weight.shape(), 0, indices.reshape(Dims{indices.numel()}), false);
  rows.shape = indices.shape();
  rows.shape.push_back(weight.size(1));
  const auto selection = std::make_shared<const Selection>(std::move(rows));
  const auto vjp = [=, shape = weight.shape(), &context = weight.context()](const Tensor& g) {
    Tensor contributions = g.to(wide_dtype(g.dtype()));
    if (lookup.scale_by_frequency) {
      contributions = map(contributions.dtype(), contributions, inverse_frequencies(indices, shape[0]).unsqueeze(-1),
                          [](auto v, auto scale) { return v * scale; });
    }
    Tensor total = take_vjp(contributions, shape, *selection, context, g.dtype());
    if (lookup.padding) {
      const auto row = static_cast<std::size_t>(shape[1]) * size_of(g.dtype());
      std::memset(total.mutable_data<std::byte>() + static_cast<std::size_t>(*lookup.padding) * row, 0, row);
    }
    return total;
  };
  return weight.tape().record(take(weight.stored(), *selection).to(weight.dtype()), {{weight, vjp}});
}

// The table after the rows in use were scaled down in place to a p-norm of at most max_norm. The gradient is that of
// the scaled table.
Var renormalized(const Var& weight, const Tensor& given, double max_norm, double p) {
  const Tensor indices = index_values(given);
  const Selection used = slices_selection(weight.shape(), 0, indices.reshape(Dims{indices.numel()}), false);
  Tape scratch(weight.context());
  const Tensor rows = take(weight.tensor(), used).to(wide_dtype(weight.dtype()));
  const Tensor norms = vector_norm(scratch.constant(rows), p, {1}, true).tensor();
  const Tensor scaled = map(rows.dtype(), rows, norms, [max_norm](auto v, auto norm) {
    using T = decltype(v);
    return norm > static_cast<T>(max_norm) ? v * (static_cast<T>(max_norm) / (norm + static_cast<T>(1e-7))) : v;
  });
  return weight.tape().record(put(weight.tensor(), used, scaled), {{weight, [](const Tensor& g) { return g; }}});
}

std::optional<std::int64_t> padding_row(const Bound& args, const Var& weight) {
  const auto padding = args.optional_integer("padding_idx");
  if (!padding) return std::nullopt;
  return checked_index(*padding, weight.size(0), true);
}

Var table_for(const Bound& args, const Tensor& indices) {
  const Var weight = args.var("weight");
  if (weight.rank() != 2) throw SkipError("embedding: the weight must have two dimensions.");
  const auto max_norm = args.optional_real("max_norm");
  return max_norm ? renormalized(weight, indices, *max_norm, args.real("norm_type")) : weight;
}

// Bags of neighbouring entries, by the bag of each entry; entries of the padding row belong to no bag (-1).
struct Bags {
  std::int64_t count = 0;
  std::vector<std::int64_t> bag_of;
  std::vector<std::int64_t> sizes;
};

Bags make_bags(const Tensor& indices, const std::optional<Var>& offsets, bool include_last,
               std::optional<std::int64_t> padding) {
  Bags bags;
  const std::int64_t entries = indices.numel();
  std::vector<std::int64_t> starts;
  if (offsets) {
    if (indices.rank() != 1) throw SkipError("embedding_bag: offsets go with a vector of indices.");
    const Tensor values = index_values(offsets->tensor());
    const auto* from = values.data<std::int64_t>();
    starts.assign(from, from + values.numel());
    if (include_last) {
      if (starts.empty()) throw SkipError("embedding_bag: include_last_offset needs at least one offset.");
      starts.pop_back();
    }
    if (!starts.empty() && starts.front() != 0) throw SkipError("embedding_bag: the first offset must be 0.");
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (starts[i] > entries || (i > 0 && starts[i] < starts[i - 1])) {
        throw SkipError("embedding_bag: the offsets must rise and not exceed the number of indices.");
      }
    }
    if (starts.empty() && entries > 0) throw SkipError("embedding_bag: indices without a bag.");
  } else {
    if (indices.rank() != 2) throw SkipError("embedding_bag: indices without offsets must have two dimensions.");
    for (std::int64_t row = 0; row < indices.size(0); ++row) starts.push_back(row * indices.size(1));
  }
  bags.count = static_cast<std::int64_t>(starts.size());
  bags.sizes.resize(starts.size());
  bags.bag_of.resize(static_cast<std::size_t>(entries));
  for (std::size_t bag = 0; bag < starts.size(); ++bag) {
    const std::int64_t end = bag + 1 < starts.size() ? starts[bag + 1] : entries;
    for (std::int64_t i = starts[bag]; i < end; ++i) {
      const bool padded = padding && indices.data<std::int64_t>()[i] == *padding;
      bags.bag_of[static_cast<std::size_t>(i)] = padded ? -1 : static_cast<std::int64_t>(bag);
      if (!padded) ++bags.sizes[bag];
    }
  }
  return bags;
}

// Sums of the rows of each bag.
Var sum_bags(const Var& rows, const Bags& bags) {
  const std::int64_t width = rows.size(1);
  std::vector<std::int64_t> members;
  Selection targets;
  targets.run = width;
  for (std::size_t i = 0; i < bags.bag_of.size(); ++i) {
    if (bags.bag_of[i] < 0) continue;
    members.push_back(static_cast<std::int64_t>(i));
    if (width > 0) targets.starts.push_back(bags.bag_of[i] * width);
  }
  targets.shape = {static_cast<std::int64_t>(members.size()), width};
  const Tensor member = Tensor::from<std::int64_t>(
      DType::int64, targets.shape.empty() ? Dims{} : Dims{targets.shape[0]}, std::span<const std::int64_t>(members));
  const auto sources = std::make_shared<const Selection>(slices_selection(rows.shape(), 0, member, false));
  const auto selection = std::make_shared<const Selection>(std::move(targets));
  const Tensor zeros = Tensor::zeros(rows.dtype(), Dims{bags.count, width});
  return rows.tape().record(put_sum(zeros, *selection, take(rows.tensor(), *sources), 1, rows.context()),
                            {{rows, [=, shape = rows.shape()](const Tensor& g) {
                                return put(Tensor::zeros(g.dtype(), shape), *sources, take(g, *selection));
                              }}});
}

// The first largest row entry of each bag and column; empty bags give 0 without gradient.
Var max_bags(const Var& rows, const Bags& bags) {
  const std::int64_t width = rows.size(1);
  const Tensor values = rows.tensor().to(DType::float64).contiguous();
  const double* from = values.data<double>();
  Tensor winners = Tensor::full(DType::int64, Dims{bags.count, width}, -1);
  auto* winner = winners.mutable_data<std::int64_t>();
  for (std::size_t i = 0; i < bags.bag_of.size(); ++i) {
    if (bags.bag_of[i] < 0) continue;
    for (std::int64_t column = 0; column < width; ++column) {
      std::int64_t& best = winner[bags.bag_of[i] * width + column];
      const auto row = static_cast<std::int64_t>(i);
      if (best < 0 || from[row * width + column] > from[best * width + column]) best = row;
    }
  }
  if (rows.numel() == 0) return rows.tape().constant(Tensor::zeros(rows.dtype(), winners.shape()));
  const Tensor filled = map_as(Compute::int64, DType::boolean, winners, [](auto row) { return row >= 0; });
  const Tensor index = map_as(Compute::int64, DType::int64, winners, [](auto row) { return row < 0 ? 0 : row; });
  return mul(gather(rows, 0, index), rows.tape().constant(filled));
}

struct BagOptions {
  std::string mode = "mean";
  std::optional<std::int64_t> padding;
  bool scale_by_frequency = false;
};

// Reduces the rows of each bag; sample_weights may be missing.
Var reduce_bags(const Var& weight, const Tensor& indices, const Bags& bags, const std::optional<Var>& sample_weights,
                const BagOptions& options) {
  Var rows = look_up(weight, indices.reshape(Dims{indices.numel()}), {options.padding, options.scale_by_frequency});
  if (sample_weights) {
    if (options.mode != "sum") throw SkipError("embedding_bag: per_sample_weights go with mode 'sum' only.");
    if (sample_weights->numel() != indices.numel()) {
      throw SkipError("embedding_bag: per_sample_weights must have the shape of the indices.");
    }
    rows = mul(rows, reshape(*sample_weights, Dims{indices.numel(), 1}));
  }
  if (options.mode == "max") return max_bags(rows, bags);
  const Var sums = sum_bags(rows, bags);
  if (options.mode == "sum") return sums;
  if (options.mode != "mean") throw SkipError("embedding_bag: mode must be 'sum', 'mean' or 'max'.");
  Tensor sizes(DType::int64, {bags.count, 1});
  for (std::size_t i = 0; i < bags.sizes.size(); ++i) {
    sizes.mutable_data<std::int64_t>()[i] = std::max<std::int64_t>(bags.sizes[i], 1);
  }
  return div(sums, weight.tape().constant(sizes));
}

Value embedding_bag(const Bound& args) {
  const Tensor indices = index_values(args.var("input").tensor());
  Raised raised;
  const Var weight = raised(table_for(args, indices));
  const std::optional<std::int64_t> padding = padding_row(args, weight);
  const Bags bags = make_bags(indices, args.optional_var("offsets"), args.flag("include_last_offset"), padding);
  return raised.back(reduce_bags(weight, indices, bags, raised(args.optional_var("per_sample_weights")),
                                 {args.text("mode"), padding, args.flag("scale_grad_by_freq")}));
}

// The form below torch.nn.functional, which also returns the bag of every index, the sizes of the bags and the winners
// of mode max: what the backward kernel of a device keeps for itself, of which each device gives what it needs.
Value embedding_bag_with_offsets(const Bound& args) {
  static const std::vector<std::string> modes{"sum", "mean", "max"};
  const std::int64_t mode = args.integer("mode");
  if (mode < 0 || mode > 2) throw SkipError("embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max).");
  const Tensor indices = index_values(args.var("indices").tensor());
  Raised raised;
  const Var weight = raised(args.var("weight"));
  if (weight.rank() != 2) throw SkipError("embedding_bag: the weight must have two dimensions.");
  const std::optional<std::int64_t> padding = padding_row(args, weight);
  const Bags bags = make_bags(indices, args.var("offsets"), args.flag("include_last_offset"), padding);
  const Var result = reduce_bags(weight, indices, bags, raised(args.optional_var("per_sample_weights")),
                                 {modes[static_cast<std::size_t>(mode)], padding, args.flag("scale_grad_by_freq")});
  const auto list = [&](const std::vector<std::int64_t>& items) -> Value {
    const Dims shape{static_cast<std::int64_t>(items.size())};
    return args.tape().constant(Tensor::from<std::int64_t>(DType::int64, shape, std::span<const std::int64_t>(items)));
  };
  return List{raised.back(result), list(bags.bag_of), list(bags.sizes), None{}};
}

// Whether each bag gives its largest elements; of either form the mode has one place among the arguments.
template <std::size_t place>
bool ranks_bags(const List& args, const Dict& kwargs) {
  const Value* mode = argument_at(args, kwargs, place, "mode");
  if (mode == nullptr) return false;
  const auto* text = mode->get<std::string>();
  const auto* number = mode->get<std::int64_t>();
  return (text != nullptr && *text == "max") || (number != nullptr && *number == 2);
}

// Bags follow each other, and the first begins where the indices do.
void fit_offsets(DrawnCall& call) {
  sort_drawn(call, 2, "offsets");
  const Tensor* offsets = call.drawn(2, "offsets");
  if (offsets == nullptr || offsets->numel() == 0) return;
  Tensor fitted = offsets->to(DType::int64).clone();
  *fitted.mutable_data<std::int64_t>() = 0;
  *call.made(2, "offsets") = fitted.to(offsets->dtype());
}

// Where in a call indices and table are, and the index that is left out of a bag and has no gradient.
struct PaddingForm {
  std::size_t indices;
  std::string_view indices_name;
  std::size_t weight;
  std::size_t padding;
  bool counts_from_end = true;  // a negative one; else that means none
};
constexpr PaddingForm padding_of_function{0, "input", 1, 2};
constexpr PaddingForm padding_of_weight{1, "indices", 0, 2, false};
constexpr PaddingForm padding_of_bags{0, "input", 1, 10};
constexpr PaddingForm padding_of_bags_of_weight{1, "indices", 0, 8};

// Indices that are drawn from a whole table hardly ever name one row.
void fit_padding(DrawnCall& call, const PaddingForm& form) {
  const Value* given = call.made(form.padding, "padding_idx");
  const auto* padding = given == nullptr ? nullptr : given->get<std::int64_t>();
  const Tensor* weight = call.tensor(form.weight, "weight");
  if (padding == nullptr || weight == nullptr || weight->rank() == 0) return;
  const std::int64_t row = *padding < 0 && form.counts_from_end ? *padding + weight->size(0) : *padding;
  if (row >= 0) draw_number(call, form.indices, form.indices_name, static_cast<double>(row));
}

template <const PaddingForm& form>
void fit_rows(DrawnCall& call) {
  fit_padding(call, form);
}

template <const PaddingForm& form>
void fit_bags(DrawnCall& call) {
  fit_offsets(call);
  fit_padding(call, form);
}

}  // namespace

OP("embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, "
   "bool scale_grad_by_freq=False, bool sparse=False)",
   [](const Bound& args) -> Value {
     const Tensor indices = args.var("input").tensor();
     const Var weight = table_for(args, indices);
     return look_up(weight, indices, {padding_row(args, weight), args.flag("scale_grad_by_freq")});
   });
NAMES("embedding", "Functional: embedding; MintFunctional: embedding");
TRAITS("embedding", .varies = Varies::gradients, .half_sums = HalfSums::gradients,
       .fit = fit_rows<padding_of_function>);

// A negative padding_idx means none.
OP("embedding_of_weight(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
   "bool sparse=False)",
   [](const Bound& args) -> Value {
     const Var weight = args.var("weight");
     std::optional<std::int64_t> padding;
     if (args.integer("padding_idx") >= 0) padding = padding_row(args, weight);
     return look_up(weight, args.var("indices").tensor(), {padding, args.flag("scale_grad_by_freq")});
   });
NAMES("embedding_of_weight", "Torch: embedding; Aten: embedding; Mint: embedding");
TRAITS("embedding_of_weight", .varies = Varies::gradients, .half_sums = HalfSums::gradients,
       .fit = fit_rows<padding_of_weight>);

OP("embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2.0, "
   "bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, "
   "bool include_last_offset=False, int? padding_idx=None)",
   [](const Bound& args) -> Value { return embedding_bag(args); });
NAMES("embedding_bag", "Functional: embedding_bag");
TRAITS("embedding_bag", .ranks_in = ranks_bags<6>, .varies = Varies::gradients, .half_sums = HalfSums::gradients,
       .fit = fit_bags<padding_of_bags>, .recorded_gradients = RecordedGradients::of_last_step);

OP("embedding_bag_with_offsets(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
   "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, "
   "int? padding_idx=None)",
   embedding_bag_with_offsets);
NAMES("embedding_bag_with_offsets", "Torch: embedding_bag");
TRAITS("embedding_bag_with_offsets", .ranks_in = ranks_bags<4>, .varies = Varies::gradients,
       .half_sums = HalfSums::gradients, .compared_output = 0, .fit = fit_bags<padding_of_bags_of_weight>,
       .recorded_gradients = RecordedGradients::of_last_step);

// The table after the rows in use were scaled down to a norm of at most max_norm.
OP("embedding_renorm(Tensor input, Tensor indices, float max_norm, float norm_type)", [](const Bound& args) -> Value {
  const Var weight = args.var("input");
  if (weight.rank() != 2 || !is_floating(weight.dtype())) {
    throw SkipError("embedding_renorm_: the table must be a floating-point matrix.");
  }
  return renormalized(weight, args.var("indices").tensor(), args.real("max_norm"), args.real("norm_type"));
});
NAMES("embedding_renorm", "Torch: embedding_renorm_");

}  // namespace msrun
