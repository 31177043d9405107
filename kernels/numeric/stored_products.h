// What kernels that each form one product, or one sum, in an accumulator that is wide enough, and store what they give
// leave of a call that is composed of several: a bias is added to a product in the dtype of the call. The kernels here
// keep the product in the accumulator for what follows. Whoever wants to know how much that differs computes a call so.
#pragma once

#include "kernels/base/replaced.h"
#include "kernels/tensor/arithmetic.h"
#include "kernels/tensor/dtype.h"

namespace msrun {

// While one lives, float32 products, convolutions, attention, sums over axes and norms whose statistics no half type
// holds are formed in float64 on the calling thread and rounded to float32 before anything is done with them; positions
// between elements are as exact as float32 has them. An inner one collects in the outer one's stead until it ends.
class StoredProducts {
 public:
  // The factors of attention are multiples of `smallest` as well, if that is not 0: a half type has a smallest number.
  explicit StoredProducts(double smallest = 0);

  // Whether there were any products, of whatever dtype.
  bool any() const { return any_; }
  // Whether some of them were stored and then added to each other, so that a result is rounded more than once.
  bool adds() const { return adds_; }

 private:
  friend bool stores_products();
  friend void note_added_products();
  friend double smallest_stored();

  bool any_ = false;
  bool adds_ = false;
  double smallest_;
  Replaced<StoredProducts*> innermost_;
};

// Asked by kernels of products: whether one lives on the calling thread, which then knows of the product.
bool stores_products();

// Asked by other kernels, of which it is not told: whether one lives on the calling thread, so that what they hold on
// the way to their results, sums, statistics, positions, is wide.
bool computes_wide();

// What such a kernel holds on the way in place of a dtype: float64 for float32 where it computes wide, else that dtype.
DType held_dtype(DType dtype);

// The same of what sums are formed in, unless their accumulator is narrow.
DType dtype_of_sums(DType dtype, Accumulator accumulator);

// Tells the innermost one, which is there, that stored products are added to each other.
void note_added_products();

// The smallest number of the innermost one on the calling thread; 0 without one.
double smallest_stored();

}  // namespace msrun
