// What shells complete of a command, made of the description that its help is made of (option.h).
#pragma once

#include <string>
#include <string_view>

#include "kernels/base/command_line/option.h"

namespace msrun {

// The table of one command for the completion of a shell: bash, zsh or fish. name is what the command is called as,
// "msrun journal". Of bash and zsh the tables of all commands stand before the functions in
// cmake/completion/msrun.<shell>, which read them; those of fish are complete. Throws UserError for another shell.
std::string completion_table(const CommandDescription& command, std::string_view shell, std::string_view name);

}  // namespace msrun
