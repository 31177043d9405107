// Names of output files that no other program has taken.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "kernels/io/files/paths.h"

namespace msrun {

// Makes an empty file, so that no other program takes the name. False if there is one of that name already; WriteError
// if it cannot be made.
inline bool take_file_name(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0 && errno == EEXIST) return false;
  if (descriptor < 0) {
    throw WriteError("The file " + path + " cannot be created: " + std::system_category().message(errno));
  }
  ::close(descriptor);
  return true;
}

}  // namespace msrun
