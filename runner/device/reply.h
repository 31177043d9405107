// What a device outside of msrun answers to a call, whatever way the answer came, and what is made of it. The worker of
// the torch backend and plugins answer with these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runner/device/device.h"

namespace msrun {

enum class ReplyStatus : std::uint8_t { done, unsupported, arguments, failed, out_of_memory, lost };

struct Reply {
  ReplyStatus status = ReplyStatus::done;
  std::string error;    // unless it is done
  DeviceResult result;  // if it is done; the tensors are copies
};

// What a call asks for, beside what stands in it.
// The dtype that autocast lowered to when the call was recorded.
std::optional<DType> autocast_of(const DeviceCall& call);
// What the generator of a call that draws is to begin with, so that results do not depend on the calls before.
std::optional<std::uint64_t> seed_of(const DeviceCall& call);
// Whether the gradient of an argument is asked for; tensor: its place among them, depth first.
bool asks_gradient(const MaterialisedCall& call, std::size_t place, const Tensor& tensor);

// A tensor of these elements, which follow each other row by row without gaps and have the bytes of the sizes. A byte
// of a bool that is neither 0 nor 1 is true. Throws what Tensor's constructor throws.
Tensor tensor_of(DType dtype, const Dims& sizes, std::span<const std::byte> elements);

// The result of a reply that is done. Throws SkipError with the words of the device otherwise, and what is no SkipError
// where the device had no memory, though nothing else ran. backend: "torch:cpu". The status is not `lost`.
DeviceResult result_of(Reply reply, const DeviceCall& call, const std::string& backend);

// Lets the calls of several threads run side by side, and one for which the device had no memory once more, when no
// other does. Calls that come later wait behind that one: however many there are, it gets its turn.
class CallTurns {
 public:
  // give_back: has the device return what it keeps for later calls.
  Reply run(const std::function<Reply()>& ask, const std::function<void()>& give_back);

 private:
  template <class Lock>
  void wait_for(Lock& lock);

  std::mutex turn_;          // held while waiting for alone_, which prefers its readers
  std::shared_mutex alone_;  // held by whoever runs a call with all of the device's memory
};

// Takes down why this thread ends its process, for whoever looks after it. Set by who makes the thread; null: nobody.
using LastWords = std::function<void(std::string_view)>;
const LastWords*& last_words();

// Ends the runner: every call that is under way may be to blame for what is said.
[[noreturn]] void end_runner(std::int32_t device_id, const std::string& what);
// Says why it is about to end: in a line on standard error, and in its last words.
void say_runner_ends(std::int32_t device_id, const std::string& what);

}  // namespace msrun
