#include "tools/op_generate/python_text.h"

#include <cmath>
#include <map>

#include "kernels/base/text.h"
#include "kernels/compare/details.h"

namespace msrun::op_generate {

namespace {

constexpr std::size_t blanks_of_a_step = 4;

// An escape of so many hexadecimal digits.
std::string escape(std::string_view mark, unsigned value, int digits) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  std::string text(mark);
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += hexadecimal[(value >> shift) & 15U];
  return text;
}

std::string hex4(unsigned value) { return escape("\\u", value, 4); }

// A character that \u is too short for.
std::string in_python(unsigned code) { return escape("\\U", code, 8); }
std::string in_json(unsigned code) {
  return hex4(0xD800 + ((code - 0x10000) >> 10)) + hex4(0xDC00 + ((code - 0x10000) & 0x3FFU));
}

// A byte that is no UTF-8.
unsigned as_replacement(unsigned char /*byte*/) { return 0xFFFD; }
// As Python has such bytes of file names (PEP 383).
unsigned as_surrogate(unsigned char byte) { return 0xDC00U + byte; }

// The code point of a well-formed character of this many bytes.
unsigned code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  unsigned value = byte(0) & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) value = (value << 6) | (byte(i) & 0x3FU);
  return value;
}

void append_escaped(std::string& out, unsigned code, std::string (*beyond)(unsigned)) {
  static const std::map<unsigned, std::string_view> short_forms{
      {'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}, {'\b', "\\b"}, {'\f', "\\f"}};
  if (const auto found = short_forms.find(code); found != short_forms.end()) {
    out += found->second;
  } else if (code >= 0x20 && code < 0x7F) {
    out += static_cast<char>(code);
  } else {
    out += code < 0x10000 ? hex4(code) : beyond(code);
  }
}

std::string quoted(std::string_view text, std::string (*beyond)(unsigned), unsigned (*no_character)(unsigned char)) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text.front());
    append_escaped(result, length == 0 ? no_character(byte) : code_point(text.substr(0, length)), beyond);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result + '"';
}

// As JSON has them; Python's literals are written elsewhere.
std::string json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return python_float(value);
}

// The last of the members of one name, at the place of the first, as Python reads an object.
std::vector<JsonNode> members(const JsonNode& object) {
  std::vector<JsonNode> result;
  std::map<std::string_view, std::size_t> places;
  for (const JsonNode member : object) {
    const auto [place, is_new] = places.emplace(member.key(), result.size());
    if (is_new) {
      result.push_back(member);
    } else {
      result[place->second] = member;
    }
  }
  return result;
}

class JsonWriter {
 public:
  explicit JsonWriter(const ChangeText& change) : change_(change) {}

  void write(const JsonNode& node, std::string_view key, std::size_t indentation) {
    switch (node.kind()) {
      case JsonEvent::begin_object:
        return container(members(node), '{', '}', true, key, indentation);
      case JsonEvent::begin_array: {
        std::vector<JsonNode> entries;
        for (const JsonNode entry : node) entries.push_back(entry);
        return container(entries, '[', ']', false, key, indentation);
      }
      case JsonEvent::string:
        text_ += json_literal(change_(key, node.text()));
        return;
      case JsonEvent::integer:
        text_ += std::to_string(node.integer());
        return;
      case JsonEvent::real:
        // An integer that is read as a double would come out as another number.
        text_ += node.large_integer().empty() ? json_number(node.number()) : std::string(node.large_integer());
        return;
      case JsonEvent::boolean:
        text_ += node.boolean() ? "true" : "false";
        return;
      default:
        text_ += "null";
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void container(const std::vector<JsonNode>& entries, char open, char close, bool named, std::string_view key,
                 std::size_t indentation) {
    text_ += open;
    bool first = true;
    for (const JsonNode& entry : entries) {
      text_ += first ? "\n" : ",\n";
      first = false;
      text_.append(indentation + blanks_of_a_step, ' ');
      if (named) text_ += json_literal(entry.key()) + ": ";
      write(entry, named ? entry.key() : key, indentation + blanks_of_a_step);
    }
    if (!entries.empty()) text_.append(1, '\n').append(indentation, ' ');
    text_ += close;
  }

  const ChangeText& change_;
  std::string text_;
};

}  // namespace

std::string python_float(double value) {
  std::string text;
  append_python_number(text, value);
  return text;
}

std::string python_number(double value) {
  return std::isfinite(value) ? python_float(value) : "float(" + string_literal(python_float(value)) + ")";
}

std::string string_literal(std::string_view text) { return quoted(text, in_python, as_replacement); }

std::string path_literal(std::string_view path) { return quoted(path, in_python, as_surrogate); }

std::string json_literal(std::string_view text) { return quoted(text, in_json, as_surrogate); }

std::string json_text(const JsonNode& node, std::size_t indentation, const ChangeText& change) {
  JsonWriter writer(change);
  writer.write(node, {}, indentation);
  return writer.take();
}

}  // namespace msrun::op_generate
