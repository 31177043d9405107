// What one number in queues, slots and retries stands for. As a rule it is a call, which any device may check. With
// --same-on-all a call is several items of work, each for one device: the check on the device that the call falls to, a
// run on every other one, and, where these do not tell which device is wrong, the check on some of the others as well.
#pragma once

#include <cstdint>

namespace msrun {

class WorkItems {
 public:
  // Items that are calls.
  WorkItems() = default;
  // So many calls, each for all of so many devices, of which there are two or more.
  WorkItems(std::uint32_t calls, std::uint32_t devices) : calls_(calls), devices_(devices) {}

  // Whether every call is for all devices. Only then the functions below may be asked for more than the task.
  bool on_all_devices() const { return devices_ > 1; }
  std::uint32_t devices() const { return devices_; }

  // The call.
  std::uint32_t task(std::uint32_t item) const { return on_all_devices() ? item % calls_ : item; }

  // The parts of the call with this number: part 0 is its check, 1 to devices - 1 are the runs on the others, part
  // devices + p is the check on the device of part p.
  std::uint32_t item(std::uint32_t task, std::uint32_t part) const { return part * calls_ + task; }
  std::uint32_t part(std::uint32_t item) const { return item / calls_; }
  bool is_check(std::uint32_t part) const { return part == 0 || part >= devices_; }
  // The place of the device among all; calls are spread evenly over them.
  std::uint32_t device(std::uint32_t item) const { return (task(item) + part(item)) % devices_; }

 private:
  std::uint32_t calls_ = 0;
  std::uint32_t devices_ = 1;
};

}  // namespace msrun
