// Texts of the two file formats: JSON as Python writes it, and values as the viewers show them
// (graph_visualization.md 6.2).
#pragma once

#include <string>
#include <string_view>

#include "tools/graph/verdict.h"

namespace msrun::graph {

// In quotes, all but printable ASCII escaped; bytes that are no UTF-8 become U+FFFD.
void append_json(std::string& out, std::string_view text);

// A value as text in quotes.
void append_value(std::string& out, const Side& side, const Value& value, Dialect dialect);
void append_real(std::string& out, double value, Dialect dialect);  // without quotes

// A number as JSON has it: 0, 1, 0.5, 0.0.
void append_index(std::string& out, const Index& index);

// What separates the members of JSON objects and lists: one line, or indented by four blanks a level.
class JsonStyle {
 public:
  explicit constexpr JsonStyle(bool indented) : indented_(indented) {}

  // Before a member at this depth; first: of its object or list.
  void member(std::string& out, bool first, int depth) const {
    if (!first) out += indented_ ? "," : ", ";
    line(out, depth);
  }
  // Before the bracket that closes what is not empty.
  void close(std::string& out, int depth) const { line(out, depth); }

 private:
  void line(std::string& out, int depth) const {
    if (!indented_) return;
    out += '\n';
    out.append(static_cast<std::size_t>(depth) * 4, ' ');
  }

  bool indented_;
};

inline constexpr JsonStyle on_one_line(false);

// The input_data or output_data of a node. judged: of its parameters, empty if nothing is compared.
struct ShownData {
  const Side& side;
  const Entry* entry = nullptr;  // null: nothing is shown
  const std::vector<Judged>& judged;
  const Rules& rules;
};
void append_data(std::string& out, const ShownData& data, bool outputs, const JsonStyle& style, int depth);

// A list of texts.
template <class Texts, class Text>
void append_list(std::string& out, const Texts& texts, const JsonStyle& style, int depth, const Text& text) {
  out += '[';
  bool first = true;
  for (const auto& item : texts) {
    style.member(out, first, depth + 1);
    append_json(out, text(item));
    first = false;
  }
  if (!first) style.close(out, depth);
  out += ']';
}

}  // namespace msrun::graph
