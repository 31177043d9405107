#include "kernels/numeric/stored_products.h"

namespace msrun {
namespace {

thread_local StoredProducts* current = nullptr;

}  // namespace

StoredProducts::StoredProducts() : innermost_(current, this) {}

bool stores_products() {
  if (current == nullptr) return false;
  current->any_ = true;
  return true;
}

}  // namespace msrun
