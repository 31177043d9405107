// The Python script that reproduces a recorded call (op_generate_and_code_mapping.md A.5, A.6).
#pragma once

#include <string>

#include "tools/op_generate/recorded_case.h"

namespace msrun::op_generate {

// "arg_0_1" or "kwarg_weight": what the tensor of an argument is called in scripts and lists of inputs.
std::string indexed_name(const std::string& name, std::size_t index);

// native is the command that runs the same case without Python. Every text of the recording stands in it as a literal,
// so that none of it is code.
std::string script_text(const RecordedCase& recorded, const std::string& native);

}  // namespace msrun::op_generate
