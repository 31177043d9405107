// How many files a program may have open.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace msrun {

// Raises the limit of this process as far as it may, and returns it.
inline std::uint64_t allow_many_descriptors() {
  constexpr std::uint64_t always_allowed = 256;  // if the system does not tell
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return always_allowed;
  rlimit raised = limit;
  raised.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

}  // namespace msrun
