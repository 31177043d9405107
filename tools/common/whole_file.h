// Small enough files that are read and replaced at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msrun {

// All bytes of a regular file of less than `limit` bytes. Throws UserError that names the file and the cause.
std::string read_whole_file(const std::string& path, std::uint64_t limit);

// Whether a file that is there lacks write permission: by its mode for everybody, so that it holds for root, too, or
// for whoever asks.
bool is_read_only(const std::string& path);

// Replaces a regular file that is there in one step and keeps its mode, and its owner and group where that is allowed.
// Where path is a link, what it points to is replaced. Throws WriteError; then the file is as it was.
void replace_whole_file(const std::string& path, std::string_view bytes);

}  // namespace msrun
