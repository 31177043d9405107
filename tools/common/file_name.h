// Names of output files that no other program has taken.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "kernels/base/unique_fd.h"
#include "kernels/io/files/paths.h"

namespace msrun {

// Makes an empty file, so that no other program takes the name. False if there is one of that name already; WriteError
// if it cannot be made.
inline bool take_file_name(const std::string& path) {
  const UniqueFd descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!descriptor && errno == EEXIST) return false;
  if (!descriptor) {
    throw WriteError("The file " + path + " cannot be created: " + std::system_category().message(errno));
  }
  return true;
}

}  // namespace msrun
