// Any bytes as what a torch worker sends: frames through a socket, each of them read as what it says of itself, as
// the beginning of a lane and as the reply to a call. There is a value or an error for all of it, no tensor reaches
// beyond the memory of the lane, and what came after the frames is left alone. The first byte of an input says how it
// is read: 0: as a stream of frames, else as the text of one.
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/base/unique_fd.h"
#include "kernels/tensor/memory.h"
#include "runner/device/python/arena.h"
#include "runner/device/python/wire.h"
#include "runner/workers/frames.h"
#include "runner/workers/hello.h"
#include "runner/workers/probe.h"
#include "tests/fuzz/target.h"

namespace {

using namespace msrun;

constexpr std::uint64_t call_id = 7;
constexpr std::size_t lane_memory = std::size_t{1} << 20;

// Every element of the tensors of a reply is read.
std::uint64_t sum_of_bytes(const Value& value) {
  std::uint64_t sum = 0;
  for_each_leaf(value, [&](const Value& leaf) {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor == nullptr) return;
    fuzz_require(tensor->bytes() <= lane_memory);
    for (std::size_t i = 0; i < tensor->bytes(); ++i) sum += static_cast<std::uint64_t>(tensor->raw()[i]);
  });
  return sum;
}

void take_reply(std::string_view text) {
  Arena arena;
  try {
    const Reply reply = decode_reply(text, call_id, arena);
    fuzz_require(arena.memory().size() == lane_memory);
    std::uint64_t sum = sum_of_bytes(reply.result.output);
    for (const Value& gradient : reply.result.gradients) sum += sum_of_bytes(gradient);
    fuzz_require(sum == 0);  // nothing was written into the lane
  } catch (const BadFrame&) {
  } catch (const SkipError&) {
  } catch (const NoTensorMemory&) {
  }
}

void take_lane(std::string_view text) {
  try {
    decode_lane(text);
  } catch (const BadFrame&) {
  } catch (const SkipError&) {
  }
}

void take_hello(std::string_view text) {
  WorkerOptions options;
  options.kind = "npu";
  options.python = "python3";
  try {
    require_devices(parse_hello(text, options), options, {0});
  } catch (const UserError& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
}

void take_stream(std::string_view bytes) {
  std::array<int, 2> ends{};
  fuzz_require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd here(ends[0]);
  UniqueFd there(ends[1]);
  // As much as the socket takes without a reader.
  bytes = bytes.substr(0, std::size_t{64} << 10);
  fuzz_require(send(there.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  there.reset();
  std::string text;
  std::size_t consumed = 0;
  try {
    while (receive_frame(here.get(), text)) {
      consumed += sizeof(std::uint32_t) + text.size();
      fuzz_require(bytes.substr(consumed - text.size(), text.size()) == text);
      take_hello(text);
      take_lane(text);
      take_reply(text);
    }
  } catch (const BadFrame&) {
  }
  fuzz_require(consumed <= bytes.size());
}

}  // namespace

FUZZ_TARGET(torch_reply_fuzz) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 0) {
    take_stream(bytes);
  } else {
    take_hello(bytes);
    take_lane(bytes);
    take_reply(bytes);
  }
  return 0;
}
