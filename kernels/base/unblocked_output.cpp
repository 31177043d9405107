#include "kernels/base/unblocked_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

namespace msrun {
namespace {

// Bytes that a pipe or terminal with room takes without waiting.
constexpr std::size_t part = 256;
static_assert(part <= PIPE_BUF);

bool has_room(int descriptor) {
  pollfd state{descriptor, POLLOUT, 0};
  // An error or a reader that has gone is for the write to find out.
  return poll(&state, 1, 0) > 0 && state.revents != 0;
}

bool blocks(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

}  // namespace

UnblockedOutput::UnblockedOutput(int descriptor) : descriptor_(descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !blocks(descriptor)) return;
  if (S_ISSOCK(status.st_mode)) way_ = Way::send;
  if (!S_ISFIFO(status.st_mode) && isatty(descriptor) == 0) return;
  own_.reset(
      ::open(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!own_) way_ = Way::in_parts;
}

UnblockedOutput::Outcome UnblockedOutput::write(std::string_view text) {
  const int target = own_ ? own_.get() : descriptor_;
  Outcome outcome;
  while (outcome.bytes < text.size()) {
    if (way_ == Way::in_parts && !has_room(target)) return outcome;
    const char* at = text.data() + outcome.bytes;
    const std::size_t left = text.size() - outcome.bytes;
    const ssize_t count = way_ == Way::send ? ::send(target, at, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                            : ::write(target, at, way_ == Way::in_parts ? std::min(left, part) : left);
    if (count >= 0) {
      outcome.bytes += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) outcome.error = errno;
      return outcome;
    }
  }
  return outcome;
}

}  // namespace msrun
