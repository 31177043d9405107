// While a call is on a device, its thread uses no processor of the host, which others may use meanwhile.
#pragma once

#include <functional>

namespace msrun {

// What a thread does before and after it waits for a device.
struct WaitTerms {
  std::function<void()> begin;
  std::function<void()> end;
};

// Those of this thread; null: it has nothing to give up. Who sets them keeps them for as long.
const WaitTerms*& wait_terms();

// The thread that makes one waits for a device until it ends. To be held around the waiting alone: with a device whose
// work is done by the host's processors it would let too many calls compute at a time.
class DeviceWait {
 public:
  DeviceWait() {
    if (wait_terms() != nullptr) wait_terms()->begin();
  }
  ~DeviceWait() {
    if (wait_terms() != nullptr) wait_terms()->end();
  }
  DeviceWait(const DeviceWait&) = delete;
  DeviceWait& operator=(const DeviceWait&) = delete;
};

}  // namespace msrun
