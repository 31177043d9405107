// The clocks of the program: a steady one, never set back, for durations, time-outs and moments that processes of one
// host share; and the one that people read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace msrun {

// A clock in place of the host's, for a simulation, in which no time passes but what it says.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual std::uint64_t steady_nanoseconds() = 0;
  virtual double unix_seconds() = 0;
  // Returns when so much of its time has passed.
  virtual void pause(std::chrono::nanoseconds duration) = 0;
};

// For tests alone: where the functions below take the time from, in the program or library that sets it; null: from the
// host.
inline std::atomic<TimeSource*> time_source{nullptr};

// Nanoseconds, and seconds, of the steady clock. Every process of the host reads the same.
inline std::uint64_t steady_nanoseconds() {
  if (TimeSource* const source = time_source.load(std::memory_order_relaxed); source != nullptr) [[unlikely]]
    return source->steady_nanoseconds();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

inline double steady_seconds() { return static_cast<double>(steady_nanoseconds()) * 1e-9; }

// Seconds since 1970 of the clock that people read, which may be set forward and back.
inline double unix_seconds() {
  if (TimeSource* const source = time_source.load(std::memory_order_relaxed); source != nullptr) [[unlikely]]
    return source->unix_seconds();
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Lets at least so much time pass.
inline void pause_for(std::chrono::nanoseconds duration) {
  if (TimeSource* const source = time_source.load(std::memory_order_relaxed); source != nullptr) [[unlikely]]
    return source->pause(duration);
  std::this_thread::sleep_for(duration);
}

// Adds the nanoseconds from its construction to its destruction to a total, which must outlive it. For the total of
// several threads each needs its own.
class Stopwatch {
 public:
  explicit Stopwatch(std::uint64_t& total) : total_(total), start_(steady_nanoseconds()) {}
  ~Stopwatch() { total_ += steady_nanoseconds() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::uint64_t& total_;
  std::uint64_t start_;
};

}  // namespace msrun
