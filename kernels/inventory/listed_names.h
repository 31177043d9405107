// The names that a list of APIs may have: msProbe's own lists of what its pre-check supports, whether or not msrun has
// an operator of that name.
#pragma once

#include <string_view>

namespace msrun {

// Whether msProbe knows a bare API name ("conv2d", "linalg.norm") in Functional, Tensor, Torch or NPU.
bool is_listed_name(std::string_view api);

}  // namespace msrun
