// Where tests find their data and the programs they start.
#pragma once

#include <string>
#include <string_view>

namespace msrun::testing {

// The absolute path of tests/data, followed by below ("/dumps").
std::string test_data(std::string_view below = "");

// The absolute path of the folder of the built programs.
std::string programs();

}  // namespace msrun::testing
