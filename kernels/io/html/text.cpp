#include "kernels/io/html/text.h"

#include <nlohmann/json.hpp>

#include "kernels/base/text.h"

namespace msrun::html {

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : visible(text)) {
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
  // JSON has all of these only inside of strings, where they may be written as escapes or as others.
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (const std::size_t length = utf8_length(rest); length > 1) {
      out += visible(rest.substr(0, length));
      i += length - 1;
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
