// Sorting, selection by rank, binary search and unique values.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_extrema.h"
#include "kernels/numeric/ordering.h"
#include "kernels/numeric/reduction_view.h"
#include "kernels/numeric/selection.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/index/fitting_order.h"

namespace msrun {
namespace {

Value values_and_indices(const Var& x, std::int64_t axis, const Tensor& indices) {
  return List{gather(x, axis, indices), x.tape().constant(indices)};
}

// The elements at indices, which have size 1 along axis, and the indices, both without that axis unless keepdim.
Value values_and_indices_without(const Var& x, std::int64_t axis, const Tensor& indices, bool keepdim) {
  const Dims shape = reduced_shape(x.shape(), {axis}, keepdim);
  return List{reshape(gather(x, axis, indices), shape), x.tape().constant(indices.reshape(shape))};
}

// Over all elements there is no index to say which of several equal elements was meant: they share the gradient.
Value median_of_all(const Var& x, Rank rank) {
  if (x.numel() == 0 && is_floating(x.dtype())) {
    const Tensor y = Tensor::full(x.dtype(), Dims{}, std::numeric_limits<double>::quiet_NaN());
    return x.tape().record(y, {{x, [t = x.tensor()](const Tensor& g) { return Tensor::zeros(g.dtype(), t.shape()); }}});
  }
  const Tensor flat = x.tensor().reshape(Dims{x.numel()});
  const Tensor y = take(flat, slices_selection(flat.shape(), 0, rank_index(flat, 0, rank), false)).reshape(Dims{});
  return x.tape().record(y, {{x, [t = x.tensor(), y, &context = x.context()](const Tensor& g) {
                                return share_over_ties(context, t, y, g, {});
                              }}});
}

// First position whose boundary is not less than the value (greater, if `right`). NaN is larger than every boundary.
template <class T>
std::int64_t position_in(const T* boundaries, const std::int64_t* sorter, std::int64_t count, T value, bool right) {
  std::int64_t low = 0;
  std::int64_t high = count;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const T boundary = boundaries[sorter == nullptr ? middle : sorter[middle]];
    if (right ? !(boundary > value) : !(boundary >= value)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Tensor search(const Tensor& boundaries, const Tensor& values, const Tensor& sorter, bool right) {
  if (boundaries.rank() == 0) throw SkipError("The sorted sequence must have at least one dimension.");
  const std::int64_t count = boundaries.size(-1);
  const bool shared = boundaries.rank() == 1;
  bool same_rows = boundaries.rank() == values.rank();
  for (std::size_t axis = 0; same_rows && axis + 1 < boundaries.shape().size(); ++axis) {
    same_rows = boundaries.shape()[axis] == values.shape()[axis];
  }
  if (!shared && !same_rows) {
    throw SkipError("The sorted sequence must be 1-d or have the leading sizes of the values.");
  }
  const std::int64_t* order = nullptr;
  Tensor order_tensor;
  if (sorter.defined()) {
    if (!(sorter.shape() == boundaries.shape())) throw SkipError("sorter must have the shape of the sorted sequence.");
    order_tensor = index_values(sorter);
    order = order_tensor.data<std::int64_t>();
    for (std::int64_t i = 0; i < order_tensor.numel(); ++i) checked_index(order[i], count, false);
  }
  const std::int64_t row = shared ? values.numel() : values.size(-1);
  Tensor result(DType::int64, values.shape());
  auto* target = result.mutable_data<std::int64_t>();
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const DType wide = std::is_same_v<T, double> ? DType::float64 : DType::int64;
    const Tensor sequence = boundaries.to(wide).contiguous();
    const Tensor wanted = values.to(wide).contiguous();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const std::int64_t start = shared ? 0 : i / row * count;
      target[i] = position_in<T>(sequence.data<T>() + start, order == nullptr ? nullptr : order + start, count,
                                 wanted.data<T>()[i], right);
    }
  };
  if (is_complex(boundaries.dtype()) || is_complex(values.dtype())) throw SkipError("Complex numbers have no order.");
  if (is_floating(boundaries.dtype()) || is_floating(values.dtype())) {
    run(double{});
  } else {
    run(std::int64_t{});
  }
  return result;
}

Value searched(const Bound& args, const Var& boundaries, const Var& values, const Tensor& sorter, bool right) {
  const auto [limits, sought] = as_recorded(boundaries, values);
  const Tensor positions = search(limits.tensor(), sought.tensor(), sorter, right);
  return args.tape().constant(args.flag("out_int32") ? positions.to(DType::int32) : positions);
}

// Values, and on request the group of each element and the size of each group.
Value unique_values(const Bound& args, bool consecutive, bool always_all) {
  const Var x = args.var("input");
  Tape& tape = args.tape();
  const bool by_slice = args.given("dim");
  const std::int64_t axis = by_slice ? normalize_axis(args.integer("dim"), x.rank()) : 0;
  const Tensor flat = by_slice && x.rank() > 0 ? x.tensor().transpose(0, axis) : x.tensor().reshape(Dims{x.numel()});
  const Tensor groups =
      by_slice && x.rank() > 0 ? slice_group_numbers(flat, consecutive) : group_numbers(flat, consecutive);
  const auto* group = groups.data<std::int64_t>();
  const std::int64_t elements = groups.numel();
  const std::int64_t count = elements == 0 ? 0 : *std::max_element(group, group + elements) + 1;
  Tensor firsts = Tensor::zeros(DType::int64, Dims{count});
  Tensor counts = Tensor::zeros(DType::int64, Dims{count});
  for (std::int64_t i = elements; i-- > 0;) {
    firsts.mutable_data<std::int64_t>()[group[i]] = i;
    ++counts.mutable_data<std::int64_t>()[group[i]];
  }
  Tensor values = take(flat.contiguous(), slices_selection(flat.shape(), 0, firsts, false));
  if (by_slice && x.rank() > 0) values = values.transpose(0, axis).contiguous();
  List outputs{tape.constant(values)};
  if (always_all || args.flag("return_inverse")) {
    outputs.push_back(tape.constant(by_slice ? groups : groups.reshape(x.shape())));
  }
  if (always_all || args.flag("return_counts")) outputs.push_back(tape.constant(counts));
  if (outputs.size() == 1) return outputs[0];
  return outputs;
}

// The order of a sequence that is sorted by another argument is what makes it sorted.
void fit_sorted_sequence(DrawnCall& call) {
  const Value* sorter = argument_at({}, call.recorded_kwargs, 0, "sorter");
  const Tensor* sequence = call.tensor(0, "sorted_sequence");
  if (sorter == nullptr || sorter->is_none()) {
    sort_drawn(call, 0, "sorted_sequence");
  } else if (is_drawn(*sorter) && sequence != nullptr && sequence->rank() > 0 && !is_complex(sequence->dtype())) {
    List none;
    *argument_at(none, call.kwargs, 0, "sorter") = sort_index(*sequence, -1, false);
  }
}

}  // namespace

void sort_drawn(DrawnCall& call, std::size_t place, std::string_view name) {
  const Tensor* sequence = call.drawn(place, name);
  if (sequence == nullptr || sequence->rank() == 0 || is_complex(sequence->dtype())) return;
  *call.made(place, name) = gather_elements(*sequence, -1, sort_index(*sequence, -1, false));
}

OP("sort(Tensor input, int dim=-1, bool descending=False, bool? stable=None)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const std::int64_t axis = args.integer("dim");
  return values_and_indices(x, axis, sort_index(x.tensor(), axis, args.flag("descending")));
});
NAMES("sort", "Torch: sort; Tensor: sort; Aten: sort; Mint: sort");
TRAITS("sort", .ties = {.indices = IndexOutput::of_values, .unique = true}, .picks = PickedAxis{1, -1}, .ranks = true,
       .element_work = 5);

OP("argsort(Tensor input, int dim=-1, bool descending=False, bool stable=False)", [](const Bound& args) -> Value {
  return args.tape().constant(sort_index(args.var("input").tensor(), args.integer("dim"), args.flag("descending")));
});
NAMES("argsort", "Torch: argsort; Tensor: argsort; Aten: argsort");
TRAITS("argsort", .ties = {.indices = IndexOutput::of_order, .unique = true}, .element_work = 5);

OP("msort(Tensor input)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  return gather(x, 0, sort_index(x.tensor(), 0, false));
});
NAMES("msort", "Torch: msort; Tensor: msort");
TRAITS("msort", .picks = PickedAxis{.usual = 0}, .ranks = true);

OP("topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const std::int64_t axis = args.integer("dim");
  Choices* choices = args.tape().context().choices();
  if (choices != nullptr && !args.flag("sorted"))
    choices->order = OpenOrder{.kind = OpenOrder::Kind::rows, .axis = axis};
  return values_and_indices(x, axis, top_index(x.tensor(), axis, args.integer("k"), args.flag("largest")));
});
NAMES("topk", "Torch: topk; Tensor: topk; Aten: topk; Mint: topk");
TRAITS("topk", .ties = {.indices = IndexOutput::of_values, .unique = true}, .picks = PickedAxis{2, -1}, .ranks = true,
       .differentiable_output = 0, .element_work = 2);

OP("kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const std::int64_t axis = args.integer("dim");
  const std::int64_t k = args.integer("k");
  if (k < 1) throw SkipError("kthvalue: k must be positive.");
  const Tensor indices = rank_index(x.tensor(), axis, Rank::kth, k - 1);
  return values_and_indices_without(x, axis, indices, args.flag("keepdim"));
});
NAMES("kthvalue", "Torch: kthvalue; Tensor: kthvalue");
TRAITS("kthvalue", .ties = {.indices = IndexOutput::of_values}, .picks = PickedAxis{2, -1}, .ranks = true,
       .varies = Varies::results);

OP("median(Tensor input)", [](const Bound& args) -> Value { return median_of_all(args.var("input"), Rank::median); });
OP("median(Tensor input, int dim, bool keepdim=False)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const std::int64_t axis = args.integer("dim");
  return values_and_indices_without(x, axis, rank_index(x.tensor(), axis, Rank::median), args.flag("keepdim"));
});
NAMES("median", "Torch: median; Tensor: median; Aten: median; Mint: median");
TRAITS("median", .ties = {.indices = IndexOutput::of_values}, .picks = PickedAxis{1}, .ranks = true,
       .varies = Varies::results);

OP("nanmedian(Tensor input)",
   [](const Bound& args) -> Value { return median_of_all(args.var("input"), Rank::nanmedian); });
OP("nanmedian(Tensor input, int dim, bool keepdim=False)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const std::int64_t axis = args.integer("dim");
  return values_and_indices_without(x, axis, rank_index(x.tensor(), axis, Rank::nanmedian), args.flag("keepdim"));
});
NAMES("nanmedian", "Torch: nanmedian; Tensor: nanmedian; Aten: nanmedian");
TRAITS("nanmedian", .ties = {.indices = IndexOutput::of_values}, .picks = PickedAxis{1}, .ranks = true,
       .varies = Varies::results);

OP("mode(Tensor input, int dim=-1, bool keepdim=False)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const std::int64_t axis = args.integer("dim");
  return values_and_indices_without(x, axis, mode_index(x.tensor(), axis), args.flag("keepdim"));
});
NAMES("mode", "Torch: mode; Tensor: mode; Aten: mode");
TRAITS("mode", .ties = {.indices = IndexOutput::of_values}, .picks = PickedAxis{1, -1}, .ranks = true);

OP("searchsorted(Tensor sorted_sequence, Operand input, *, bool out_int32=False, bool right=False, str? side=None, "
   "Tensor? sorter=None)",
   [](const Bound& args) -> Value {
     const bool right = args.given("side") ? args.text("side") == "right" : args.flag("right");
     const std::optional<Var> sorter = args.optional_var("sorter");
     return searched(args, args.var("sorted_sequence"), args.var("input"), sorter ? sorter->tensor() : Tensor{}, right);
   });
NAMES("searchsorted", "Torch: searchsorted; Aten: searchsorted; Mint: searchsorted");
TRY_FIRST("searchsorted", Trial::of_values);
TRAITS("searchsorted", .fit = fit_sorted_sequence);

OP("bucketize(Operand input, Tensor boundaries, *, bool out_int32=False, bool right=False)",
   [](const Bound& args) -> Value {
     if (args.var("boundaries").rank() != 1) throw SkipError("bucketize: the boundaries must be a vector.");
     return searched(args, args.var("boundaries"), args.var("input"), {}, args.flag("right"));
   });
NAMES("bucketize", "Torch: bucketize; Aten: bucketize");
TRAITS(
    "bucketize", .fit = [](DrawnCall& call) { sort_drawn(call, 1, "boundaries"); });

OP("unique(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None)",
   [](const Bound& args) -> Value {
     Choices* choices = args.tape().context().choices();
     // Those along an axis are sorted in any case.
     if (choices != nullptr && !args.flag("sorted") && !args.given("dim"))
       choices->order = OpenOrder{.kind = OpenOrder::Kind::groups, .has_places = args.flag("return_inverse")};
     return unique_values(args, false, false);
   });
NAMES("unique", "Torch: unique; Tensor: unique; Mint: unique");

OP("unique_dim(Tensor input, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False)",
   [](const Bound& args) -> Value { return unique_values(args, false, true); });
NAMES("unique_dim", "Torch: unique_dim");

OP("unique_consecutive(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None)",
   [](const Bound& args) -> Value { return unique_values(args, true, false); });
NAMES("unique_consecutive", "Torch: unique_consecutive; Tensor: unique_consecutive");

}  // namespace msrun
