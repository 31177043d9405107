#include "tests/support/test_paths.h"

namespace msrun::testing {

std::string test_data(std::string_view below) { return std::string(TEST_DATA_DIR) + std::string(below); }

std::string programs() { return BINARY_DIR; }

}  // namespace msrun::testing
