// The instants between two atomic steps of the shared queue, by name, so that a test can have a process die or stop in
// each of them. Without a hook passing one costs a load and a branch.
#pragma once

#include <atomic>
#include <cstdint>

namespace msrun {

// In the order in which a worker comes past them.
enum class QueueStep : std::uint8_t {
  runner_started,     // forked, nothing done yet
  pulse_started,      // its heart beats
  device_made,        // and its threads will start
  token_seen,         // a processor token is free, as it seems
  token_claimed,      // a processor token is in the slot, and not yet known to be there for it
  token_held,         //
  call_claimed,       // a call is in the slot, and not yet taken from the queue
  call_taken,         //
  retry_taken,        // taken from what the runner was given, and not yet in the slot
  memory_seen,        // as for tokens
  memory_claimed,     // as for tokens
  memory_held,        //
  call_begun,         // since when is in the slot
  call_computed,      // no longer timed
  memory_given_back,  // the token not yet
  token_given_back,   //
  ring_filled,        // the bytes are in the ring, but not published
  ring_published,     // nobody knows of them
  result_announced,   // nobody has been woken
  supervisor_woken,   //
  result_sent,        // whole; the slot still has the call
  slot_emptied,       //
  thread_done,        // has no call left and may help others
  threads_joined,     // only the end of the process is left
};
constexpr int queue_steps = static_cast<int>(QueueStep::threads_joined) + 1;

// For tests alone: is called, in the process that sets it and those that it forks, by every thread at every step.
using StepHook = void (*)(QueueStep step);
inline std::atomic<StepHook> step_hook{nullptr};

inline void passed(QueueStep step) {
  if (const StepHook hook = step_hook.load(std::memory_order_relaxed); hook != nullptr) [[unlikely]]
    hook(step);
}

// For tests alone: is called by the supervisor between two looks at what runners write into slots and rings.
using LookHook = void (*)();
inline std::atomic<LookHook> look_hook{nullptr};

inline void looking() {
  if (const LookHook hook = look_hook.load(std::memory_order_relaxed); hook != nullptr) [[unlikely]]
    hook();
}

}  // namespace msrun
