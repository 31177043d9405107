// Where tests find their data, the programs they start and the sources.
#pragma once

#include <string>
#include <string_view>

namespace msrun::testing {

// The absolute path of the unpacked test data (tests/data/CMakeLists.txt), followed by below ("/dumps").
std::string test_data(std::string_view below = "");

// The absolute path of the folder of the built programs.
std::string programs();

// The absolute path of the top of the source tree.
std::string source_root();

// The absolute path of the list of rooms that the build wrote (cmake/Rooms.cmake).
std::string rooms_file();

}  // namespace msrun::testing
