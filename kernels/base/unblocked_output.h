// Output that never waits for whoever reads it: a pipe that nobody empties, a terminal that was stopped with Ctrl-S.
#pragma once

#include <cstddef>
#include <string_view>

#include "kernels/base/unique_fd.h"

namespace msrun {

// Writes to a descriptor as much as can be written at once. Other processes may share the descriptor, so that its own
// flags stay as they are: O_NONBLOCK would reach the shell that it was inherited from.
class UnblockedOutput {
 public:
  // The descriptor stays the caller's and outlives this.
  explicit UnblockedOutput(int descriptor);

  struct Outcome {
    std::size_t bytes = 0;  // written
    int error = 0;          // errno; 0: what is not written has to wait for the reader
  };
  Outcome write(std::string_view text);

  // Can be polled for POLLOUT.
  int descriptor() const { return descriptor_; }
  // A descriptor of its own for the same file, which writes without waiting; -1 where none is needed or possible.
  int own_descriptor() const { return own_.get(); }

 private:
  enum class Way : unsigned char {
    at_once,   // a file, or what was made not to block: one write takes all that it can
    send,      // a socket
    in_parts,  // a pipe or terminal that could not be opened again: small parts, and only when there is room
  };

  int descriptor_;
  Way way_ = Way::at_once;
  UniqueFd own_;
};

}  // namespace msrun
