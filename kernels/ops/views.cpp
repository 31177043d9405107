// Functions that move or repeat data without arithmetic, and the operators made of them.
#include "kernels/api/operators.h"
#include "kernels/error.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/functions.h"

namespace msrun {

Var cast(const Var& x, DType dtype) {
  if (x.dtype() == dtype && !x.is_number()) return x;
  return x.tape().record(x.tensor().to(dtype), {{x, [from = x.dtype()](const Tensor& g) { return g.to(from); }}});
}

Var reshape(const Var& x, const Dims& shape) {
  return x.tape().record(x.tensor().reshape(shape),
                         {{x, [from = x.shape()](const Tensor& g) { return g.reshape(from); }}});
}

Var permute(const Var& x, const Dims& axes) {
  Dims inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    inverse[static_cast<std::size_t>(normalize_axis(axes[i], x.rank()))] = static_cast<std::int64_t>(i);
  }
  return x.tape().record(x.tensor().permute(axes), {{x, [inverse](const Tensor& g) { return g.permute(inverse); }}});
}

Var transpose(const Var& x, std::int64_t a, std::int64_t b) {
  return x.tape().record(x.tensor().transpose(a, b), {{x, [a, b](const Tensor& g) { return g.transpose(a, b); }}});
}

Var expand(const Var& x, const Dims& shape) {
  return x.tape().record(x.tensor().expand(shape),
                         {{x, [from = x.shape()](const Tensor& g) { return sum_to(g, from); }}});
}

OP("transpose(Tensor input, int dim0, int dim1)", [](const Bound& args) -> Value {
  return transpose(args.var("input"), args.integer("dim0"), args.integer("dim1"));
});
NAMES("transpose",
      "Torch: transpose swapaxes swapdims; Tensor: transpose transpose_ swapaxes swapaxes_ swapdims swapdims_; "
      "Aten: transpose transpose_; Mint: transpose");

OP("reshape(Tensor input, int[]... shape)",
   [](const Bound& args) -> Value { return reshape(args.var("input"), args.ints("shape")); });
NAMES("reshape", "Torch: reshape; Tensor: reshape; Aten: reshape; Mint: reshape");

}  // namespace msrun
