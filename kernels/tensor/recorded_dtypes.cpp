#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {
namespace {

thread_local RecordedScope* current = nullptr;

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

RecordedScope::RecordedScope(const RecordedDTypes& recorded) : recorded_(recorded), innermost_(current, this) {}

DType recorded_dtype(DType dtype) { return current == nullptr ? dtype : current->recorded_.of(dtype); }

bool has_narrow_parameters() {
  if (current == nullptr) return false;
  current->takes_parameters_ = true;
  return current->recorded_.narrow_parameters;
}

bool in_benchmark() { return current != nullptr && current->recorded_.of_benchmark; }

Positions positions() {
  if (current == nullptr) return Positions::wide;
  current->takes_positions_ = true;
  return current->recorded_.positions;
}

bool gives_alternative() {
  if (current == nullptr) return false;
  current->has_alternative_ = true;
  return current->recorded_.alternative;
}

}  // namespace msrun
