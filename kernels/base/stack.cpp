#include "kernels/base/stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "kernels/base/error.h"

namespace msrun {
namespace {

constexpr rlim_t usual = rlim_t{8} << 20;
constexpr rlim_t least = rlim_t{512} << 10;

// Without it, glibc gives threads as much as the limit was when the program began.
void set_default_of_threads() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, usual) == 0) pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

}  // namespace

void prepare_stacks() {
  set_default_of_threads();
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= usual) return;
  // The stack of the first thread grows up to the limit of the moment.
  limit.rlim_cur = std::min(usual, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
  if (limit.rlim_cur >= least) return;
  throw UserError("the stack is limited to " + std::to_string(limit.rlim_cur >> 10) + " KiB, and " +
                  std::to_string(least >> 10) + " are needed: raise the limit with ulimit -s " +
                  std::to_string(usual >> 10));
}

}  // namespace msrun
