// Where on a command line its command stands.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernels/base/command_line/option.h"

namespace msrun {

// What the word at a place is, which is no option and no value of one.
enum class WordKind : std::uint8_t { none, command, program };
using KindOfWord = std::function<WordKind(std::size_t place)>;

// Moves the command that stands behind options to the front; without one the words stay as they are. options: those
// that the words may have. Throws UserError for a program of its own behind options, which are not known to be its.
void put_command_first(std::vector<std::string>& words, const CommandDescription& options, const KindOfWord& kind_of);

}  // namespace msrun
