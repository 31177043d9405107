#include "kernels/io/html/text.h"

#include <nlohmann/json.hpp>

namespace msrun::html {

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string script_json(const nlohmann::json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  // JSON has all of these only inside of strings, where they may be written as escapes.
  constexpr std::string_view line_separators = "\xE2\x80";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    const bool separator =
        rest.size() > 2 && rest.starts_with(line_separators) && (rest[2] == '\xA8' || rest[2] == '\xA9');
    if (separator) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (rest[0] == '<') {
      out += "\\u003c";
    } else if (rest[0] == '>') {
      out += "\\u003e";
    } else if (rest[0] == '&') {
      out += "\\u0026";
    } else {
      out += rest[0];
    }
  }
  return out;
}

}  // namespace msrun::html
