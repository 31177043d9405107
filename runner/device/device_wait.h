// While a call is on a device, its thread uses no processor of the host, which others may use meanwhile; and while it
// waits for other calls, it gets no older.
#pragma once

#include <functional>

namespace msrun {

// What a thread does before and after it waits for a device, and before and after it waits for other calls.
struct WaitTerms {
  std::function<void()> begin;
  std::function<void()> end;
  std::function<void(bool waits)> keep_waiting = {};
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

// The thread that makes one waits, until it ends, for its turn among the calls: that is no time of its own call.
class WaitForOthers {
 public:
  WaitForOthers() { tell(true); }
  ~WaitForOthers() { tell(false); }
  WaitForOthers(const WaitForOthers&) = delete;
  WaitForOthers& operator=(const WaitForOthers&) = delete;

 private:
  static void tell(bool waits) {
    if (wait_terms() != nullptr && wait_terms()->keep_waiting) wait_terms()->keep_waiting(waits);
  }
};

}  // namespace msrun
