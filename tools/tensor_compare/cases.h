// Comparison cases in a JSON file (precision_metrics.md 14.1): pairs of outputs with the API they belong to, as the
// golden file has them. Expectations that a file may hold besides are for tests; they are not read here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/api/value.h"
#include "kernels/compare/compare.h"

namespace msrun {

struct ComparisonCase {
  std::string name;
  std::string api;  // short name
  Value bench;
  Value device;
  bool fp8_input = false;
  std::optional<Standard> forced;  // in place of what the API's name selects; tensors only
};

// The cases in the order of the file. Throws UserError that names the file, the case and what is wrong with it.
std::vector<ComparisonCase> read_cases(const std::string& path);
// Reads the cases from the text of a file, which messages call path.
std::vector<ComparisonCase> parse_cases(const std::string& path, std::string_view text);

// The rows of one case and its verdict. What cannot be compared at all is one SKIP row.
Comparison compare_case(const ComparisonCase& test, const CompareOptions& options);

}  // namespace msrun
