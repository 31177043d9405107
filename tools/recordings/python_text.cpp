#include "tools/recordings/python_text.h"

#include <zlib.h>

#include <array>
#include <cstdio>

#include "kernels/base/text.h"

namespace msrun::recordings {
namespace {

void append_value(std::string& out, const JsonNode& node) {
  switch (node.kind()) {
    case JsonEvent::begin_object:
    case JsonEvent::begin_array: {
      const bool object = node.is_object();
      out += object ? '{' : '[';
      bool first = true;
      for (const JsonNode child : node) {
        if (!first) out += ", ";
        first = false;
        if (object) {
          append_repr(out, child.key());
          out += ": ";
        }
        append_value(out, child);
      }
      out += object ? '}' : ']';
      return;
    }
    case JsonEvent::string:
      return append_repr(out, node.text());
    case JsonEvent::integer:
      out += std::to_string(node.integer());
      return;
    case JsonEvent::real:
      if (const std::string_view digits = node.large_integer(); !digits.empty()) {
        out += digits;
        return;
      }
      return append_real(out, node.number());
    case JsonEvent::boolean:
      out += node.boolean() ? "True" : "False";
      return;
    default:
      out += "None";
  }
}

}  // namespace

void append_repr(std::string& out, std::string_view text) {
  const bool single = text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  out += quote;
  for (const char c : text) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (c == quote) out += '\\';
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          std::array<char, 8> escape{};
          std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
          out += escape.data();
        } else {
          out += c;
        }
    }
  }
  out += quote;
}

std::string python_text(const JsonNode& node) {
  if (node.is_string()) return std::string(node.text());
  std::string text;
  append_value(text, node);
  return text;
}

std::string_view python_class(const std::optional<JsonNode>& value) {
  if (!value) return "<class 'NoneType'>";
  switch (value->kind()) {
    case JsonEvent::begin_object:
      return "<class 'dict'>";
    case JsonEvent::begin_array:
      return "<class 'list'>";
    case JsonEvent::string:
      return "<class 'str'>";
    case JsonEvent::integer:
      return "<class 'int'>";
    case JsonEvent::real:
      return value->large_integer().empty() ? "<class 'float'>" : "<class 'int'>";
    case JsonEvent::boolean:
      return "<class 'bool'>";
    default:
      return "<class 'NoneType'>";
  }
}

std::string text_checksum(std::string_view text) {
  const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  return hexadecimal(sum).substr(8);
}

Value value_of(const JsonNode& node, Texts& texts) {
  Value value;
  switch (node.kind()) {
    case JsonEvent::integer:
      value.kind = Kind::integer;
      value.integer = node.integer();
      break;
    case JsonEvent::real:
      value.kind = Kind::real;
      value.real = node.number();
      if (!node.large_integer().empty()) value.digits = texts.shared(node.large_integer());
      break;
    case JsonEvent::boolean:
      value.kind = Kind::boolean;
      value.integer = node.boolean() ? 1 : 0;
      break;
    case JsonEvent::null:
      break;
    case JsonEvent::string:
      value = text_value(texts.shared(node.text()));
      break;
    default:
      value = text_value(texts.shared(python_text(node)));
      value.kind = Kind::nested;
  }
  return value;
}

}  // namespace msrun::recordings
