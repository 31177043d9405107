#include "tools/api_precision_compare/api_name.h"

#include <array>

#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"

namespace msrun::api_precision_compare {

std::optional<OutputName> parse_output_name(std::string_view text) {
  std::array<std::size_t, 7> ends{};  // of the parts
  std::size_t parts = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '.') continue;
    if (parts == ends.size()) return std::nullopt;
    ends[parts++] = i;
  }
  if (parts != 6 && parts != 7) return std::nullopt;
  const std::size_t index = parts - 4;  // of the part that numbers the call
  OutputName name;
  name.api = text.substr(ends[0] + 1, ends[index - 1] - ends[0] - 1);
  name.call = text.substr(0, ends[index]);
  name.family = text.substr(0, ends[index - 1]);
  name.direction = text.substr(ends[index] + 1, ends[index + 1] - ends[index] - 1);
  return name;
}

std::string harmless_name(std::string_view text) { return without_formula(without_controls(text)); }

}  // namespace msrun::api_precision_compare
