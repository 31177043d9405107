// What becomes of results where standard output cannot be written: printed alone they are lost, beside files they are
// not.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/base/standard_output.h"

namespace msrun {

// For results that are nowhere else: throws UserError where the program was started without standard output, which
// finish_standard_output() takes for what the user wants.
inline void require_standard_output() {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    throw UserError("stdout is closed, and what was found is nowhere else.");
  }
}

// For what only tells of files that are complete: where it cannot be printed, that is said on standard error.
inline void print_beside_files(std::string_view program, std::string_view text) {
  try {
    print_text(text);
  } catch (const UserError& error) {
    write_error_line(std::string(program) + ": " + error.what());
  }
}

}  // namespace msrun
