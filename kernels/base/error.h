// The errors of the whole program. What the user can mend is a UserError, caught once in main: one line, exit code 2.
// What one API cannot do is a SkipError: the pre-check turns it into a SKIP row whose Message is what() and goes on.
// Anything else is our bug.
//
// In this folder: what every program and every room needs and what knows nothing of tensors: errors and exit codes, the
// clock, text, the options that all command lines share, and the threads that help one another.
#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace msrun {

class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SkipError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Of a call to the system that has just failed and left its reason in errno.
[[noreturn]] inline void throw_errno(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

}  // namespace msrun
