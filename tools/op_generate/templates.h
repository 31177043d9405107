// The scripts of the folder templates/, which the build puts into the program. They are Python files of their own: they
// can be read, checked and run by Python's tools.
#pragma once

#include <string_view>

namespace msrun::op_generate {

// A line "CASE = {}" in each stands for the recorded call, a line "LIMITS = {}" for the limits.
extern const std::string_view torch_script;
extern const std::string_view mindspore_script;

}  // namespace msrun::op_generate
