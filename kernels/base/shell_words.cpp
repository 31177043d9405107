#include "kernels/base/shell_words.h"

namespace msrun {

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  bool escaped = false;
  for (const char c : line) {
    // A quote in a word in quotes is written behind a backslash, between two such words.
    if (c == '\'' && !escaped) quoted = !quoted;
    escaped = c == '\\' && !quoted && !escaped;
    if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  std::erase(words, std::string());
  return words;
}

}  // namespace msrun
