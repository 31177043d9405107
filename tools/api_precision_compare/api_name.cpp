#include "tools/api_precision_compare/api_name.h"

#include <algorithm>
#include <array>

#include "kernels/base/text.h"

namespace msrun::api_precision_compare {

namespace {

constexpr auto formula_starts =
    std::to_array<std::string_view>({"＋", "－", "＝", "％", "＠", "+", "-", "=", "%", "@"});

// Bytes of the character at the start of text that makes it a formula; 0 if it is none.
std::size_t formula_start(std::string_view text) {
  const auto start = std::ranges::find_if(formula_starts, [&](std::string_view s) { return text.starts_with(s); });
  return start == formula_starts.end() ? 0 : start->size();
}

}  // namespace

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

bool is_formula(std::string_view text) {
  if (formula_start(text) > 0) return true;
  for (std::size_t at = text.find(';'); at != std::string_view::npos; at = text.find(';', at + 1)) {
    if (formula_start(text.substr(at + 1)) > 0) return true;
  }
  return false;
}

std::string harmless_name(std::string_view text) {
  std::string name = sanitised(text);
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t length = formula_start(std::string_view(name).substr(at));
    if (length > 0) name.replace(at, length, "_");
    const std::size_t mark = name.find(';', at);
    if (mark == std::string::npos) break;
    at = mark + 1;
  }
  return name;
}

}  // namespace msrun::api_precision_compare
