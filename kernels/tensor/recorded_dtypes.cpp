#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {
namespace {

bool is_computed_in(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

std::size_t place_of(DType dtype) { return dtype == DType::float64 ? 1 : 0; }

}  // namespace

void RecordedDTypes::note(DType recorded, DType evaluated, bool has_axes) {
  if (!is_floating(recorded) || !is_computed_in(evaluated)) return;
  OfTensors& of_dtype = of_tensors_[place_of(evaluated)];
  std::optional<DType>& known = has_axes ? of_dtype.with_axes : of_dtype.without;
  known = known ? promote(*known, recorded) : recorded;
}

DType RecordedDTypes::of(DType evaluated) const {
  if (!is_computed_in(evaluated)) return evaluated;
  const OfTensors& known = of_tensors_[place_of(evaluated)];
  return known.with_axes ? *known.with_axes : known.without.value_or(evaluated);
}

}  // namespace msrun
