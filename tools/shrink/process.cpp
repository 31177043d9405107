#include "tools/shrink/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/base/processes.h"
#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"

extern char** environ;

namespace msrun::shrink {
namespace {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int /*signal*/) { interrupted = 1; }

// Only calls that are safe between fork and exec. Writes errno to problem, which an exec that succeeds closes: no exit
// code is left that a program could not have.
[[noreturn]] void become(pid_t parent, const std::vector<char*>& words, const std::vector<char*>& environment, int log,
                         int problem, int handed) {
  unsettle_signals();
  setpgid(0, 0);
  // A search that is killed leaves no run behind.
  end_with_parent(parent, SIGTERM);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  if (handed >= 0) fcntl(handed, F_SETFD, 0);
  execve(words.front(), words.data(), environment.data());
  const int code = errno;
  [[maybe_unused]] const ssize_t written = write(problem, &code, sizeof(code));
  _exit(127);
}

// This process's environment with that variable in place of the one of its name; an empty one changes nothing.
std::vector<char*> environment_with(std::string& variable) {
  std::vector<char*> result;
  const std::string_view name = std::string_view(variable).substr(0, variable.find('=') + 1);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (name.empty() || !std::string_view(*entry).starts_with(name)) result.push_back(*entry);
  }
  if (!name.empty()) result.push_back(variable.data());
  result.push_back(nullptr);
  return result;
}

void kill_and_reap(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  await_end(child);
}

// The status of the process once it has ended; nothing if an interrupt or the deadline came first, and then it is gone,
// too.
std::optional<int> wait_for(pid_t child, const Deadline& deadline) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  for (;;) {
    if (const std::optional<int> status = end_of(child)) return status;
    if (Interrupts::came() || (deadline && std::chrono::steady_clock::now() >= *deadline)) {
      kill_and_reap(child);
      return std::nullopt;
    }
    pollfd waited{process.get(), POLLIN, 0};
    poll(&waited, process ? 1 : 0, process ? 100 : 5);
  }
}

[[noreturn]] void fail_to_start(int code) {
  throw UserError("no process can be started: " + std::system_category().message(code));
}

}  // namespace

Interrupts::Interrupts() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool Interrupts::came() { return interrupted != 0; }

int run_program(std::vector<std::string> words, const std::string& log, Deadline deadline, Handed handed) {
  const UniqueFd output(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!output) throw UserError(log + " cannot be made: " + errno_text());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::vector<char*> environment = environment_with(handed.variable);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start(errno);
  const UniqueFd problem(ends[0]);
  UniqueFd problem_end(ends[1]);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail_to_start(errno);
  if (child == 0) become(parent, argv, environment, output.get(), problem_end.get(), handed.descriptor);
  problem_end.reset();
  const std::optional<int> status = wait_for(child, deadline);
  if (!status) throw SearchEnds();
  int reason = 0;
  if (read(problem.get(), &reason, sizeof(reason)) == sizeof(reason)) {
    throw UserError("the program " + words.front() + " cannot be started: " + std::system_category().message(reason));
  }
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
}

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return bounded(sanitised(last));
}

}  // namespace msrun::shrink
std::string last_complaint(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  std::string of_error;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    if (line.starts_with("msrun: ") || line.find("[ERROR]") != std::string::npos) of_error = line;
    last = line;
  }
  return bounded(sanitised(of_error.empty() ? last : of_error));
}

