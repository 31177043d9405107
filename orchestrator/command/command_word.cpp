#include "orchestrator/command/command_word.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

std::string plain_name(std::string_view word) {
  std::string name(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::ranges::replace(name, '-', '_');
  return name;
}

// Whether the next word is the value of this option, whatever it says.
bool takes_next_word(const CommandDescription& command, std::string_view word) {
  const std::string name = plain_name(word);
  for (const OptionGroup& group : command.groups) {
    for (const Option& option : group.options) {
      if (option.takes == Takes::nothing || option.takes == Takes::optional_value) continue;
      for (const std::string_view spelling : spellings(option)) {
        if (plain_name(spelling) == name) return true;
      }
    }
  }
  return false;
}

}  // namespace

void put_command_first(std::vector<std::string>& words, const CommandDescription& options, const KindOfWord& kind_of) {
  if (words.empty() || !is_option(words.front())) return;
  bool is_value = false;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (is_option(words[i])) {
      is_value = takes_next_word(options, words[i]);
      continue;
    }
    if (std::exchange(is_value, false)) continue;
    const WordKind kind = kind_of(i);
    if (kind == WordKind::none) continue;
    if (kind == WordKind::program) {
      const std::string word = shell_quoted(sanitised(words[i]));
      throw UserError("the command " + word + " comes first, and its options behind it: msrun " + word + " ...");
    }
    const auto place = words.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(words.begin(), place, place + 1);
    return;
  }
}

}  // namespace msrun
