// The clocks of the program: a steady one, never set back, for durations, time-outs and moments that processes of one
// host share; and the one that people read.
#pragma once

#include <chrono>
#include <cstdint>

namespace msrun {

// Nanoseconds, and seconds, of the steady clock. Every process of the host reads the same.
inline std::uint64_t steady_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds since 1970 of the clock that people read, which may be set forward and back.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
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
