// Where the programs of this project are, seen from the one that runs.
#pragma once

#include <string>
#include <string_view>

namespace msrun {

// The path of one of our programs, such as "msrun" or "shrink": all lie beside each other where they are built; where
// they are installed, msrun is in bin/ and those that it starts by a word are in lib/msrun/, as their names are common
// ones. Beside the running program if it is in none of these places. Throws nothing.
std::string own_program(std::string_view name);

}  // namespace msrun
