// Random sequences in the order that an operator expects of them.
#pragma once

#include "kernels/api/drawn_call.h"

namespace msrun {

// Sorts the argument along its last axis, if it is random.
void sort_drawn(DrawnCall& call, std::size_t place, std::string_view name);

}  // namespace msrun
