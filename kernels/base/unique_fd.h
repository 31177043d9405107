// A file descriptor and who closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace msrun {

// Owns one descriptor, or none (-1). Closing tells nobody whether it failed: who must know releases and closes it.
class UniqueFd {
 public:
  UniqueFd() = default;
  // Takes what open() and the like return, a failure (-1) included.
  explicit UniqueFd(int value) : value_(value) {}
  UniqueFd(UniqueFd&& other) noexcept : value_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  // Closes the descriptor, if there is one, and owns value from now on.
  void reset(int value = -1) {
    if (value_ >= 0) ::close(value_);
    value_ = value;
  }
  // Gives the descriptor away: the caller closes it.
  int release() { return std::exchange(value_, -1); }

  int get() const { return value_; }
  explicit operator bool() const { return value_ >= 0; }

 private:
  int value_ = -1;
};

}  // namespace msrun
