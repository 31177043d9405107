#include "kernels/base/standard_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/base/unblocked_output.h"

namespace msrun {

void print_text(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd state{STDOUT_FILENO, POLLOUT, 0};
      poll(&state, 1, -1);
    } else if (errno == EPIPE) {
      return;
    } else if (errno != EINTR) {
      throw UserError("stdout cannot be written: " + errno_text() + ".");
    }
  }
}

void finish_standard_output() {
  if (std::cout.flush()) return;
  // Whoever starts a program without standard output wants none of it; occupy_standard_descriptors() cannot be written.
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) return;
  // The stream does not tell what went wrong; a pipe without a reader is one with an error.
  pollfd state{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0) return;
  throw UserError("the output could not be written");
}

void write_error_line(std::string_view line) { UnblockedOutput(STDERR_FILENO).write(std::string(line) + "\n"); }

void unblock_standard_output() {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    const UnblockedOutput output(descriptor);
    if (output.own_descriptor() >= 0) dup2(output.own_descriptor(), descriptor);
  }
}

void occupy_standard_descriptors() {
  int descriptor = STDIN_FILENO;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDONLY);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

}  // namespace msrun
