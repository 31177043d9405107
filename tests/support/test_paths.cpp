#include "tests/support/test_paths.h"

namespace msrun::testing {

std::string test_data(std::string_view below) { return std::string(TEST_DATA_DIR) + std::string(below); }

std::string programs() { return BINARY_DIR; }

std::string source_root() { return SOURCE_ROOT; }

std::string rooms_file() { return ROOMS_FILE; }

}  // namespace msrun::testing
