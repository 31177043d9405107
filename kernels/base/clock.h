// Seconds of a clock that is never set back, for durations.
#pragma once

#include <chrono>

namespace msrun {

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace msrun
