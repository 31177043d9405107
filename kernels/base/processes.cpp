#include "kernels/base/processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace msrun {
namespace {

// The only other error is that there is no such child.
std::optional<int> waited_for(pid_t child, int flags, rusage* usage) {
  while (true) {
    int status = 0;
    const pid_t ended = wait4(child, &status, flags, usage);
    if (ended == child) return status;
    if (ended == 0) return std::nullopt;
    if (errno != EINTR) return unknown_wait_status;
  }
}

}  // namespace

void settle_signals() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
}

void unsettle_signals() {
  std::signal(SIGXFSZ, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
}

void end_with_parent(pid_t parent, int signal) {
  prctl(PR_SET_PDEATHSIG, signal);
  if (getppid() != parent) _exit(0);
}

bool is_stopped(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The name before it may hold anything.
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && (text[name_end + 2] == 'T' || text[name_end + 2] == 't');
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code gone;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator thread(tasks, gone), end; !gone && thread != end; thread.increment(gone)) {
    std::ifstream file(thread->path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

std::optional<int> end_of(pid_t child, rusage* usage) { return waited_for(child, WNOHANG, usage); }

int await_end(pid_t child) { return waited_for(child, 0, nullptr).value_or(unknown_wait_status); }

}  // namespace msrun
