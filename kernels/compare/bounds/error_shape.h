// How the errors of a result are spread over its elements, beside what arithmetic that rounds on the way is expected to
// err by: such errors lie everywhere, in both directions. A tile that was skipped, a tail that was not masked, sums
// that lost their last terms are of the same size and lie otherwise.
#pragma once

#include "kernels/tensor/tensor.h"

namespace msrun {

struct ErrorShape {
  // The mean square of the errors in the worst contiguous piece of the elements, or of the places along the last axis,
  // over that of the middle one; 1 where there are too few elements.
  double concentration = 1;
  // How far all errors together lie on one side, over how far they scatter; less what chance makes of it.
  double lean = 0;
};

// noise is what is expected of each element, contiguous and float64. Elements that are not finite do not count.
ErrorShape shape_of_errors(const Tensor& bench, const Tensor& device, const Tensor& noise);

}  // namespace msrun
