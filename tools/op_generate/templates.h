// The scripts of the folder templates/, which the build puts into the program. They are Python files of their own: they
// can be read, checked and run by Python's tools.
#pragma once

#include <string_view>

namespace msrun::op_generate {

// A line "CASE = {}" in each stands for the recorded call. A statement that imports from the torch worker, or from the
// other files here, stands for what is imported; in torch_standards a line "LIMITS = {}" stands for the limits.
extern const std::string_view torch_script;
extern const std::string_view torch_inputs;
extern const std::string_view torch_standards;
extern const std::string_view mindspore_script;

// Modules of the torch worker, of which a script holds a copy.
extern const std::string_view forms;
extern const std::string_view removed;

}  // namespace msrun::op_generate
