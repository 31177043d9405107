// What a call was computed from, as one number: two runs whose numbers for a call agree gave it the same inputs.
#pragma once

#include <cstdint>

#include "kernels/evaluate/materialise.h"

namespace msrun {

// Over dtype, shape and elements (logical order, little-endian) of every tensor of the arguments, then of the gradients
// given to the outputs; XXH3, 64 bits. 0, which stands for an unknown checksum, is never returned.
std::uint64_t input_checksum(const MaterialisedCall& call);

}  // namespace msrun
