#include "runner/workers/frames.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "kernels/base/error.h"

namespace msrun {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t most_descriptors = 4;

bool nobody_there(int error) { return error == EPIPE || error == ECONNRESET; }

// Fewer bytes only at the end of the stream.
std::size_t receive_bytes(int socket, char* bytes, std::size_t size) {
  std::size_t received = 0;
  while (received < size) {
    const ssize_t count = recv(socket, bytes + received, size - received, MSG_WAITALL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && nobody_there(errno)) return received;
    if (count < 0) throw_errno("recv");
    if (count == 0) break;
    received += static_cast<std::size_t>(count);
  }
  return received;
}

}  // namespace

bool send_frame(int socket, std::string_view text, std::span<const int> descriptors) {
  if (text.size() > longest_frame) throw BadFrame("a frame of " + std::to_string(text.size()) + " bytes is too long");
  auto length = static_cast<std::uint32_t>(text.size());
  std::array<iovec, 2> parts{{{&length, sizeof(length)}, {const_cast<char*>(text.data()), text.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  alignas(cmsghdr) std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> control{};
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  std::size_t left = sizeof(length) + text.size();
  while (left > 0) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && nobody_there(errno)) return false;
    if (sent < 0) throw_errno("sendmsg");
    left -= static_cast<std::size_t>(sent);
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    auto passed = static_cast<std::size_t>(sent);
    for (iovec& part : parts) {
      const std::size_t step = std::min(passed, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + step;
      part.iov_len -= step;
      passed -= step;
    }
  }
  return true;
}

bool receive_frame(int socket, std::string& text) {
  std::uint32_t length = 0;
  std::array<char, sizeof(length)> header{};
  const std::size_t received = receive_bytes(socket, header.data(), header.size());
  // A process that dies may leave a part of what it was saying: that is an end, too.
  if (received < header.size()) return false;
  std::memcpy(&length, header.data(), sizeof(length));
  if (length > longest_frame) throw BadFrame("a frame of " + std::to_string(length) + " bytes is too long");
  text.resize(length);
  return receive_bytes(socket, text.data(), length) == length;
}

}  // namespace msrun
