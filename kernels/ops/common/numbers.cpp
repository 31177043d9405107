#include "kernels/ops/common/numbers.h"

#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

Var as_recorded(const Var& operand, DType dtype) {
  if (is_complex(dtype) || is_complex(operand.dtype())) return operand;
  const DType recorded = operand.context().recorded_dtype(dtype);
  const bool is_rounded = is_floating(dtype) && !is_floating(operand.dtype());
  const bool yields = operand.is_number() || operand.rank() == 0 || is_rounded;
  if (!yields || operand.dtype() == recorded) return operand;
  return cast(cast(operand, recorded), dtype);
}

std::pair<Var, Var> as_recorded(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  return {as_recorded(a, dtype), as_recorded(b, dtype)};
}

Var as_scalar_operand(const Var& operand, DType dtype) {
  const DType recorded = operand.context().recorded_dtype(dtype);
  const bool is_scalar = operand.is_number() || operand.rank() == 0;
  if (!is_scalar || !is_floating(dtype) || !is_half(recorded) || !operand.context().has_narrow_parameters())
    return operand;
  // Its gradient is not rounded.
  const Tensor held = operand.tensor().to(recorded).to(dtype);
  return operand.tape().record(held, {{operand, [](const Tensor& g) { return g; }}});
}

double as_parameter(const Var& x, double number) {
  const DType recorded = x.context().recorded_dtype(x.dtype());
  if (recorded == DType::float64 || !is_floating(recorded)) return number;
  if (is_half(recorded) && x.context().has_narrow_parameters()) return as_stored(x, number);
  return static_cast<double>(static_cast<float>(number));
}

double as_constant(const Var& x, double number) {
  const bool narrow = x.context().recorded_dtype(x.dtype()) == DType::float64 && x.context().has_narrow_parameters();
  return narrow ? static_cast<double>(static_cast<float>(number)) : number;
}

double as_stored(const Var& x, double number) {
  const DType recorded = x.context().recorded_dtype(x.dtype());
  return is_floating(recorded) ? Tensor::scalar(DType::float64, number).to(recorded).item() : number;
}

double rms_norm_eps(const Bound& args, const Var& x) {
  return args.optional_real("eps").value_or(epsilon(x.context().recorded_dtype(x.dtype())));
}

}  // namespace msrun
