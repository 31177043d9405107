// The tables that a generated script prints, computed here: the comparison of an output of the device with that of the
// benchmark (op_generate_and_code_mapping.md A.5).
#pragma once

#include <string>

#include "kernels/api/value.h"
#include "kernels/compare/standards.h"

namespace msrun::op_generate {

// The lines about two outputs, each a tensor, a number, text, None or a list of such, as a script prints them. standard
// is that of floating tensors. Numbers are those of torch to the last digit, where it adds as torch_sum does.
std::string comparison_text(const Value& device, const Value& bench, Standard standard);

}  // namespace msrun::op_generate
