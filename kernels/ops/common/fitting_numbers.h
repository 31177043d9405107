// Random tensors in which a number occurs that the call treats unlike others: drawn from all between their extrema,
// they may not have it once.
#pragma once

#include <string_view>

#include "kernels/api/drawn_call.h"

namespace msrun {

// Every fourth element of a random argument, the first one among them, becomes the number, if it lies between the
// recorded extrema and the dtype has it. One of a single element stays.
void draw_number(DrawnCall& call, std::size_t place, std::string_view name, double number);

// Of a comparison of `input`, the first argument, with `other`, the second, every fourth element finds an equal: of
// random numbers hardly any two are. The extrema stay where they are.
void fit_equal_elements(DrawnCall& call);

}  // namespace msrun
