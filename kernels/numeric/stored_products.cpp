#include "kernels/numeric/stored_products.h"

namespace msrun {
namespace {

thread_local StoredProducts* current = nullptr;

}  // namespace

StoredProducts::StoredProducts() : before_(current) { current = this; }
StoredProducts::~StoredProducts() { current = before_; }

bool stores_products() {
  if (current == nullptr) return false;
  current->any_ = true;
  return true;
}

}  // namespace msrun
