#include "kernels/ops/common/elementwise.h"

#include "kernels/ops/common/numbers.h"
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

int category(DType dtype) {
  if (is_complex(dtype)) return 3;
  if (is_floating(dtype)) return 2;
  return dtype == DType::boolean ? 0 : 1;
}

DType default_dtype(DType number) { return number == DType::float64 ? DType::float32 : number; }

}  // namespace

DType result_dtype(std::initializer_list<const Var*> operands) {
  // Three tiers: tensors with dimensions, 0-d tensors, numbers.
  std::array<bool, 3> present{};
  std::array<DType, 3> dtype{};
  for (const Var* operand : operands) {
    const std::size_t tier = operand->is_number() ? 2 : operand->rank() == 0 ? 1 : 0;
    dtype[tier] = present[tier] ? promote(dtype[tier], operand->dtype()) : operand->dtype();
    present[tier] = true;
  }
  if (present[2]) dtype[2] = default_dtype(dtype[2]);
  DType result = DType::boolean;
  bool any = false;
  for (std::size_t tier = 0; tier < 3; ++tier) {
    if (!present[tier]) continue;
    if (!any || category(dtype[tier]) > category(result)) {
      // A float keeps its width when it becomes complex.
      result = any && is_floating(result) && is_complex(dtype[tier]) ? complex_dtype(result) : dtype[tier];
    }
    any = true;
  }
  return result;
}

DType float_result_dtype(std::initializer_list<const Var*> operands) {
  const DType dtype = result_dtype(operands);
  return is_floating(dtype) || is_complex(dtype) ? dtype : DType::float32;
}

std::pair<Var, Var> with_rounded_integers(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  const auto rounded = [dtype](const Var& x) {
    return is_floating(dtype) && is_integer(x.dtype()) && x.rank() > 0 ? as_recorded(x, dtype) : x;
  };
  return {rounded(a), rounded(b)};
}

}  // namespace msrun
