#include "kernels/base/json_text.h"

#include <vector>

namespace msrun {
namespace {

// Tells f the characters of the text that stand outside of strings, until it returns false.
template <class F>
void for_each_mark(std::string_view text, const F& f) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (!f(c)) {
      return;
    }
  }
}

}  // namespace

bool nests_too_deep(std::string_view text) {
  std::size_t depth = 0;
  for_each_mark(text, [&](char c) {
    if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
    return depth <= max_json_depth;
  });
  return depth > max_json_depth;
}

bool has_too_many_members(std::string_view text) {
  std::vector<std::size_t> colons;  // of the arrays and objects that are open; arrays have none
  bool too_many = false;
  for_each_mark(text, [&](char c) {
    if (c == '[' || c == '{') {
      colons.push_back(0);
    } else if ((c == ']' || c == '}') && !colons.empty()) {
      colons.pop_back();
    } else if (c == ':' && !colons.empty()) {
      too_many = ++colons.back() > max_ordered_members;
    }
    return !too_many;
  });
  return too_many;
}

}  // namespace msrun
