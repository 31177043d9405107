// What kernels that each form one product, in an accumulator that is wide enough, and store what they give leave of a
// call that is composed of several: a bias is added to a product in the dtype of the call. The kernels here keep the
// product in the accumulator for what follows. Whoever wants to know how much that differs computes a call so.
#pragma once

#include "kernels/base/replaced.h"

namespace msrun {

// While one lives, float32 products, convolutions and attention on the calling thread are formed in float64 and rounded
// to float32 before anything is done with them. An inner one collects in the outer one's stead until it ends.
class StoredProducts {
 public:
  StoredProducts();

  // Whether there were any products, of whatever dtype.
  bool any() const { return any_; }

 private:
  friend bool stores_products();

  bool any_ = false;
  Replaced<StoredProducts*> innermost_;
};

// Asked by kernels of products: whether one lives on the calling thread, which then knows of the product.
bool stores_products();

}  // namespace msrun
