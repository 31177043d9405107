// Command lines for a shell, as msrun writes them: words in single quotes where they have to be (shell_quoted).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace msrun {

// Words of a line for a shell; quotes stay with their word.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace msrun
