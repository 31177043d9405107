#include "kernels/io/dump/recorded_signature.h"

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace msrun {
namespace {

void append_text(std::string_view text, std::string& out) {
  out += std::to_string(text.size()) + ':';
  out += text;
}

// As Python compares numbers: 1, 1.0 and True are equal, and a NaN of JSON is one object wherever it stands.
void append_number(const JsonNode& node, std::string& out) {
  if (!node.large_integer().empty()) {
    append_text(node.large_integer(), out);
    return;
  }
  const double number = node.is_boolean() ? static_cast<double>(node.boolean()) : node.number();
  const bool is_exact = !node.is_integer() || static_cast<std::int64_t>(number) == node.integer();
  out += is_exact ? "f" + std::to_string(std::bit_cast<std::uint64_t>(number + 0.0)) : std::to_string(node.integer());
}

void append_node(const JsonNode& node, bool without_extrema, std::string& out) {
  switch (node.kind()) {
    case JsonEvent::begin_object: {
      // In no order; of a key that repeats the last counts.
      std::map<std::string_view, JsonNode> members;
      for (const JsonNode member : node) members.insert_or_assign(member.key(), member);
      out += '{';
      for (const auto& [key, member] : members) {
        if (without_extrema && (key == "Max" || key == "Min")) continue;
        append_text(key, out);
        append_node(member, false, out);
      }
      out += '}';
      return;
    }
    case JsonEvent::begin_array:
      out += '[';
      for (const JsonNode element : node) append_node(element, false, out);
      out += ']';
      return;
    case JsonEvent::string:
      out += 's';
      append_text(node.text(), out);
      return;
    case JsonEvent::null:
      out += 'n';
      return;
    default:
      append_number(node, out);
      out += ';';
  }
}

}  // namespace

std::string signature_of_args(const JsonNode& args) {
  std::string out = "[";
  for (const JsonNode element : args) {
    if (element.is_object()) append_node(element, true, out);
  }
  return out + ']';
}

std::string signature_of_kwargs(const JsonNode& kwargs) {
  std::string out;
  append_node(kwargs, false, out);
  return out;
}

}  // namespace msrun
