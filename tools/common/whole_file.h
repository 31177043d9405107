// Small enough files that are read at once.
#pragma once

#include <cstdint>
#include <string>

namespace msrun {

// All bytes of a regular file of less than `limit` bytes. Throws UserError that names the file and the cause.
std::string read_whole_file(const std::string& path, std::uint64_t limit);

}  // namespace msrun
