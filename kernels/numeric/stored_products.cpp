#include "kernels/numeric/stored_products.h"

namespace msrun {
namespace {

thread_local StoredProducts* current = nullptr;

}  // namespace

StoredProducts::StoredProducts(double smallest) : smallest_(smallest), innermost_(current, this) {}

bool stores_products() {
  if (current == nullptr) return false;
  current->any_ = true;
  return true;
}

bool computes_wide() { return current != nullptr; }

DType held_dtype(DType dtype) { return dtype == DType::float32 && computes_wide() ? DType::float64 : dtype; }

DType dtype_of_sums(DType dtype, Accumulator accumulator) {
  return accumulator == Accumulator::wide ? held_dtype(dtype) : dtype;
}

void note_added_products() { current->adds_ = true; }

double smallest_stored() { return current == nullptr ? 0 : current->smallest_; }

}  // namespace msrun
