#include "kernels/base/process_end.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace msrun {

std::string death_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    const char* name = sigabbrev_np(number);
    return "killed by signal " + std::to_string(number) + (name == nullptr ? "" : " (SIG" + std::string(name) + ")");
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(wait_status));
}

std::string end_text(int wait_status) { return (WIFSIGNALED(wait_status) ? "was " : "") + death_text(wait_status); }

}  // namespace msrun
