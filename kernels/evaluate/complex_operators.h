// Which operators take complex tensors. Most have no meaning for them, or none that is implemented: their calls with
// complex tensors are a SKIP before anything is computed.
#pragma once

#include <span>
#include <string_view>

namespace msrun {

bool takes_complex(std::string_view canonical_operator);

// Their canonical names, sorted.
std::span<const std::string_view> complex_operators();

}  // namespace msrun
