// What dropout decides, for whoever judges it: which elements are kept is random, but what becomes of a kept and of a
// dropped one is not.
#pragma once

#include "kernels/tensor/dims.h"

namespace msrun {

// The decisions of one call.
struct Dropping {
  double probability = 0;  // of being dropped
  Dims shape;              // one decision for each element; axes of length 1 share theirs
};

}  // namespace msrun
