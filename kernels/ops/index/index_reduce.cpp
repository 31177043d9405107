// Operators that combine values with the elements an index names: scatter_reduce element by element, index_reduce slice
// by slice.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/indexed_reduction.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/index/fitting_values.h"

namespace msrun {
namespace {

IndexedReduction reduction_named(const std::string& name) {
  if (name == "sum") return IndexedReduction::sum;
  if (name == "prod") return IndexedReduction::product;
  if (name == "mean") return IndexedReduction::mean;
  if (name == "amax") return IndexedReduction::maximum;
  if (name == "amin") return IndexedReduction::minimum;
  throw SkipError("reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', not '" + name + "'.");
}

IndexedReductionForm form_of(const Bound& args) {
  return {reduction_named(args.text("reduce")), args.flag("include_self")};
}

Var reduced_at(const Var& x, Selection places, const Var& source, const IndexedReductionForm& form) {
  const Var values = cast(source, x.dtype());
  const auto selection = std::make_shared<const Selection>(std::move(places));
  const EvaluationContext& context = x.context();
  const Tensor result = reduce_at(x.tensor(), *selection, values.tensor(), form, context);
  return x.tape().record(
      result, {x, values},
      [=, &context = x.context(), of_x = x.tensor(), of_values = values.tensor()](const Tensor& gradient) {
        IndexedReductionGradients all = reduce_at_vjp(of_x, *selection, of_values, form, gradient, context);
        return std::vector<Tensor>{all.x, all.values};
      });
}

// Whether the largest or smallest of several elements is kept, by where a call says how it reduces.
template <std::size_t place>
bool keeps_extremes(const List& args, const Dict& kwargs) {
  const Value* reduce = argument_at(args, kwargs, place, "reduce");
  const auto* name = reduce == nullptr ? nullptr : reduce->get<std::string>();
  return name != nullptr && (*name == "amax" || *name == "amin");
}

}  // namespace

OP("scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)",
   [](const Bound& args) -> Value {
     const Var x = args.var("input");
     const Tensor index = args.var("index").tensor();
     return reduced_at(x, gather_selection(x.shape(), args.integer("dim"), index),
                       leading_part(args.var("src"), index.shape()), form_of(args));
   });
NAMES("scatter_reduce",
      "Torch: scatter_reduce; Tensor: scatter_reduce scatter_reduce_; Aten: scatter_reduce scatter_reduce_");
TRAITS("scatter_reduce", .ranks_all_in = keeps_extremes<4>, .varies = Varies::results, .half_sums = HalfSums::results,
       .element_work = 6);

OP("index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)",
   [](const Bound& args) -> Value {
     const Var x = args.var("input");
     Selection selection = slices_selection(x.shape(), args.integer("dim"), args.var("index").tensor(), false);
     const Var source = same_slices(args.var("source"), selection);
     const IndexedReductionForm form = form_of(args);
     if (form.how == IndexedReduction::sum) throw SkipError("index_reduce: reduce must not be 'sum'.");
     return reduced_at(x, std::move(selection), source, form);
   });
NAMES("index_reduce", "Torch: index_reduce; Tensor: index_reduce index_reduce_; Aten: index_reduce index_reduce_");
TRAITS("index_reduce", .ranks_all_in = keeps_extremes<4>, .varies = Varies::results, .half_sums = HalfSums::results,
       .element_work = 6);

}  // namespace msrun
