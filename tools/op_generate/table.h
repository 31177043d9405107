// The tables that a generated script prints, computed here: the comparison of an output of the device with that of the
// benchmark (op_generate_and_code_mapping.md A.5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/api/value.h"
#include "kernels/compare/metrics/standards.h"

namespace msrun::op_generate {

// The lines about two outputs, each a tensor, a number, text, None or a list of such, as a script prints them. standard
// is that of floating tensors. Numbers are those of torch to the last digit, where it adds as torch_sum does.
std::string comparison_text(const Value& device, const Value& bench, Standard standard);

struct ComparedOutputs {
  std::string text;
  std::int64_t unknown;  // outputs with elements that are NaN on both sides
};

// computed_in: of the elements of a list the dtype that each was computed in, where that is not its own.
ComparedOutputs compared_results(const Value& device, const Value& bench, Standard standard,
                                 const std::vector<std::optional<DType>>& computed_in);

// What is said in the end of so many outputs with NaN on both sides.
std::string nan_notice(std::int64_t outputs);

}  // namespace msrun::op_generate
