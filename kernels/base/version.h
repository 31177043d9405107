// The version of the project, as --version prints it and journals record it.
#pragma once

#include <string_view>

namespace msrun {

// "0.2.0"
std::string_view program_version();

}  // namespace msrun
