// A process that can start so many threads and no more, while it lives.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace msrun::testing {

// The stacks of threads take a large part of the addresses that are left. Not where a sanitizer watches, which has
// reserved its own.
class FewThreads {
 public:
  explicit FewThreads(std::size_t threads) {
    pthread_attr_init(&before_);
    pthread_getattr_default_np(&before_);
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, stack);
    pthread_setattr_default_np(&large);
    pthread_attr_destroy(&large);
    getrlimit(RLIMIT_AS, &addresses_);
    const rlimit few{addresses_in_use() + threads * stack + stack / 2, addresses_.rlim_max};
    setrlimit(RLIMIT_AS, &few);
  }
  ~FewThreads() {
    setrlimit(RLIMIT_AS, &addresses_);
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  static constexpr std::size_t stack = std::size_t{1} << 30;

  static rlim_t addresses_in_use() {
    std::ifstream file("/proc/self/statm");
    rlim_t pages = 0;
    file >> pages;
    return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  }

  pthread_attr_t before_{};
  rlimit addresses_{};
};

}  // namespace msrun::testing
