#include "runner/device/reply.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "kernels/evaluate/precision.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/random.h"
#include "runner/device/device_wait.h"

namespace msrun {
namespace {

// The device has no memory for a call, though it ran alone: no fault of the call's.
class NoDeviceMemory : public NoTensorMemory {
 public:
  explicit NoDeviceMemory(const std::string& error)
      : NoTensorMemory(0), text_("Not enough memory on the device: " + error) {}
  const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;
};

const char* said(ReplyStatus status) {
  if (status == ReplyStatus::unsupported) return "does not have this call";
  return status == ReplyStatus::arguments ? "does not take these arguments" : "could not run the call";
}

}  // namespace

std::optional<DType> autocast_of(const DeviceCall& call) { return autocast_dtype(call.materialised, call.traits); }

std::optional<std::uint64_t> seed_of(const DeviceCall& call) {
  if (!call.traits.random_zeros) return std::nullopt;
  return random_key(0, call.materialised.name, "torch") >> 1;
}

bool asks_gradient(const MaterialisedCall& call, std::size_t place, const Tensor& tensor) {
  return call.backward.run && place < call.requires_grad.size() && call.requires_grad[place] &&
         (is_floating(tensor.dtype()) || is_complex(tensor.dtype()));
}

Tensor tensor_of(DType dtype, const Dims& sizes, std::span<const std::byte> elements) {
  Tensor tensor(dtype, sizes);
  auto* target = tensor.mutable_data<std::byte>();
  if (dtype == DType::boolean) {
    std::ranges::transform(elements, target, [](std::byte byte) { return byte == std::byte{0} ? byte : std::byte{1}; });
  } else if (!elements.empty()) {
    std::memcpy(target, elements.data(), elements.size());
  }
  return tensor;
}

DeviceResult result_of(Reply reply, const DeviceCall& call, const std::string& backend) {
  if (reply.status != ReplyStatus::done) {
    const std::string error = readable(bounded(reply.error));
    if (reply.status == ReplyStatus::out_of_memory) throw NoDeviceMemory(error);
    throw SkipError(backend + " " + said(reply.status) + ": " + error);
  }
  DeviceResult& result = reply.result;
  if (call.materialised.backward.run && !result.output.is_none() && result.gradients.empty() &&
      result.backward_problem.empty()) {
    result.backward_problem = "The device returned no gradients.";
  }
  return std::move(result);
}

template <class Lock>
void CallTurns::wait_for(Lock& lock) {
  std::unique_lock turn(turn_, std::try_to_lock);
  if (turn && lock.try_lock()) return;
  const WaitForOthers wait;
  if (!turn) turn.lock();
  lock.lock();
}

Reply CallTurns::run(const std::function<Reply()>& ask, const std::function<void()>& give_back) {
  {
    std::shared_lock others(alone_, std::defer_lock);
    wait_for(others);
    Reply reply = ask();
    if (reply.status != ReplyStatus::out_of_memory) return reply;
  }
  // Nothing else holds memory now, and what the device keeps for later is given back.
  std::unique_lock alone(alone_, std::defer_lock);
  wait_for(alone);
  give_back();
  return ask();
}

const LastWords*& last_words() {
  thread_local const LastWords* words = nullptr;
  return words;
}

void say_runner_ends(std::int32_t device_id, const std::string& what) {
  write_error_line(sanitised("msrun: the runner of device " + std::to_string(device_id) + " ends: " + what));
  if (last_words() != nullptr) (*last_words())(what);
}

void end_runner(std::int32_t device_id, const std::string& what) {
  say_runner_ends(device_id, what);
  kill(getpid(), SIGKILL);
  while (true) pause();
}

}  // namespace msrun
