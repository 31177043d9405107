// Names for files that are there for a while only, and what killed processes have left of them.
#pragma once

#include <string>
#include <string_view>

#include "kernels/io/files/folder.h"

namespace msrun {

inline constexpr const char* temporary_suffix = ".tmp";  // that PendingFile appends

// A hidden name that no other process, of this host or another, and no other call uses; without the suffix. kind is
// what such files are for, without a slash. Files of that kind, with the suffix, that processes of this host have left
// in the folder which are no more are removed; others' owners cannot be asked for.
std::string temporary_name(const Folder& folder, const std::string& kind);

// Whether temporary_name has made the name for this process, with or without the suffix.
bool is_temporary_name(std::string_view name);

}  // namespace msrun
