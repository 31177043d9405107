// What kernels that each form one product, or one sum, in an accumulator that is wide enough, and store what they give
// leave of a call that is composed of several: a bias is added to a product in the dtype of the call. The kernels here
// keep the product in the accumulator for what follows. Whoever wants to know how much that differs computes a call so
// (EvaluationContext::stored_products).
#pragma once

namespace msrun {

// Where one is set, float32 products, convolutions, attention, sums over axes and norms whose statistics no half type
// holds are formed in float64 and rounded to float32 before anything is done with them; positions between elements are
// as exact as float32 has them.
struct StoredProducts {
  // The factors of attention are multiples of it as well, if it is not 0: a half type has a smallest number.
  double smallest = 0;
};

}  // namespace msrun
