// The name of an output in a details file: "Functional.relu.0.forward.output.1", or with a prefix as in
// "Torch.linalg.inv.0.forward.output.0".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace msrun::api_precision_compare {

struct OutputName {
  std::string_view api;        // "relu", "linalg.inv"
  std::string_view call;       // "Functional.relu.0"
  std::string_view family;     // "Functional.relu"
  std::string_view direction;  // "forward"
};

// Parts of text, which must outlive them; nothing for a text of other than six or seven parts.
std::optional<OutputName> parse_output_name(std::string_view text);

// The text for a log line or a cell: control characters and all that would start a formula in
// a spreadsheet become '_'.
std::string harmless_name(std::string_view text);

}  // namespace msrun::api_precision_compare
