// The errors of the whole program. What the user can mend is a UserError, caught once in main: one line, exit code 2.
// What one API cannot do is a SkipError: the pre-check turns it into a SKIP row whose Message is what() and goes on.
// Anything else is our bug.
#pragma once

#include <stdexcept>
#include <string>

namespace msrun {

class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SkipError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace msrun
