// The packed form of an orthogonal factor, as LAPACK's geqrf leaves it, below the tape.
#pragma once

#include "kernels/tensor/tensor.h"

namespace msrun {

// R of A = Q R on and above the diagonal, the vectors of the reflectors below it; tau has their factors. Signs are
// those of LAPACK: an element of R's diagonal has the opposite sign of the element it was reflected from. float32 or
// float64.
struct Reflectors {
  Tensor packed;
  Tensor tau;
};
Reflectors reflectors_of(const Tensor& a);

}  // namespace msrun
