#include "kernels/base/guarded_main.h"

#include <sys/resource.h>

#include <cerrno>

namespace msrun {

std::string problem_of_resources(const std::system_error& error) {
  const std::string call = sanitised(error.what());
  switch (error.code().value()) {
    case EMFILE: {
      rlimit limit{};
      getrlimit(RLIMIT_NOFILE, &limit);
      return "more files are needed than the " + std::to_string(limit.rlim_cur) +
             " that may be open: raise the limit with ulimit -n (" + call + ")";
    }
    case ENFILE:
      return "the host has no file descriptors left (" + call + ")";
    case EAGAIN:
      return "no more processes or threads can be started: ulimit -u, or the limit of the control group, is too low (" +
             call + ")";
    case ENOMEM:
      return "not enough memory (" + call + ")";
    default:
      return {};
  }
}

}  // namespace msrun
