// Writing a run of bytes to a descriptor, however many calls that takes.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace msrun {

// False with errno if the bytes could not be written to their last one; some of them may be there then. For descriptors
// that block.
inline bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// Whether errno says that the storage takes no more, or fails: no other path or permission that the user gives can mend
// that, and nothing about the command is wrong.
inline bool is_refusal_of_storage(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO; }

}  // namespace msrun
