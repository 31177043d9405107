// What a folder holds, told apart from what of it could be read: a folder whose reading fails in the middle looks like
// a smaller one to whoever does not ask.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace msrun {

// The entries of the folder by name. error is cleared, or set if the folder cannot be opened or read to its end; then
// it is what was read until there.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder, std::error_code& error);

// Likewise, of a folder that must be readable. Throws UserError that names it and the cause.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder);

}  // namespace msrun
