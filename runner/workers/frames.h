// Frames of the protocol with the worker: the length of the text (u32, little endian), then JSON. The other end is
// msrun_worker/protocol.py.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace msrun {

inline constexpr int worker_protocol_version = 1;
inline constexpr std::size_t longest_frame = std::size_t{64} << 20;

// What arrived is no frame of the protocol: nothing that follows it can be understood.
class BadFrame : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Descriptors go along with the first byte. False if there is nobody at the other end. Throws BadFrame for a text that
// is too long, std::system_error.
bool send_frame(int socket, std::string_view text, std::span<const int> descriptors = {});

// Waits for the next frame; false at the end of the stream. Of a lane only one frame is under way at a time, so that
// nothing is read ahead. Throws BadFrame, std::system_error.
bool receive_frame(int socket, std::string& text);

}  // namespace msrun
