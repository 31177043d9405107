// Operators that read or write the elements an index names.
#include "kernels/api/operators.h"
#include "kernels/error.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/functions.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/selection.h"

namespace msrun {
namespace {

using SharedSelection = std::shared_ptr<const Selection>;

SharedSelection share(Selection selection) { return std::make_shared<const Selection>(std::move(selection)); }

Var take(const Var& x, const SharedSelection& selection) {
  return x.tape().record(take(x.tensor(), *selection),
                         {{x, [shape = x.shape(), selection, arithmetic = x.arithmetic()](const Tensor& g) {
                             return take_vjp(g, shape, *selection, arithmetic);
                           }}});
}

}  // namespace

Var gather(const Var& x, std::int64_t axis, const Tensor& index) {
  return take(x, share(gather_selection(x.shape(), axis, index)));
}

}  // namespace msrun
