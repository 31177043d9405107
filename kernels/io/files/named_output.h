// Where an output that the user named leads. /dev/stdout and its like are links to what a process has open: to rename a
// file to such a name would replace the link itself, or a log that grows by what is printed.
#pragma once

#include <optional>
#include <string>

#include "kernels/base/unique_fd.h"

namespace msrun {

// What path leads to through links, which are followed one by one, if that is a descriptor of a process: its name in
// /proc. Nothing where it leads to anything else, or nowhere.
std::optional<std::string> descriptor_behind(const std::string& path);

// Refuses an output that leads to a descriptor or to what is no regular file: neither can be replaced whole. "--junit
// /dev/stdout leads to /proc/7/fd/1, ...". what may be "The file"; an empty path passes, and so does one where nothing
// is. Throws WriteError.
void require_file_output(const std::string& what, const std::string& path);

// Opened for writing at the end of what is there: a pipe, a device, or what a process has open. The descriptors of this
// process are copied, so that the copy writes where they do. Empty, with errno, where that fails.
UniqueFd open_to_append(const std::string& path);

}  // namespace msrun
