#include "tools/shrink/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/base/processes.h"
#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"

namespace msrun::shrink {
namespace {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int /*signal*/) { interrupted = 1; }

constexpr time_t seconds_to_end = 10;  // once it has been told to

struct Program {
  const std::vector<char*>& words;
  const std::vector<char*>& environment;
  int log;
  int problem;  // takes errno where the program cannot be started
  int handed;
};

// In a child, as all up to lead(): only calls that are safe between fork and exec. An exec that succeeds closes
// problem: no exit code is left that a program could not have.
[[noreturn]] void give_up(const Program& program, int code) {
  [[maybe_unused]] const ssize_t written = write(program.problem, &code, sizeof(code));
  _exit(127);
}

[[noreturn]] void become(pid_t leader, const Program& program, const sigset_t& mask) {
  unsettle_signals();
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  end_with_parent(leader, SIGTERM);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(program.log, STDOUT_FILENO);
  dup2(program.log, STDERR_FILENO);
  if (program.handed >= 0) fcntl(program.handed, F_SETFD, 0);
  execve(program.words.front(), program.words.data(), program.environment.data());
  give_up(program, errno);
}

// Nobody who reads what the search writes, or waits for a lock of its, waits for the leader.
void leave_descriptors() {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (nothing >= 0) dup2(nothing, standard);
  }
  syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0U);
}

// Reaps who has ended; the status of the child if it is among them. nobody_left: there is no other either.
std::optional<int> reap(pid_t child, bool& nobody_left) {
  std::optional<int> found;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
    if (ended == child) found = status;
  }
  nobody_left = ended < 0 && errno == ECHILD;
  return found;
}

[[noreturn]] void end_group() {
  kill(0, SIGTERM);
  const timespec moment{0, 100'000'000};
  bool nobody_left = false;
  for (int tenths = 0; tenths < 10 * seconds_to_end; ++tenths) {
    reap(0, nobody_left);
    if (nobody_left) _exit(0);
    nanosleep(&moment, nullptr);
  }
  kill(0, SIGKILL);
  _exit(0);
}

// The leader of the process group that the program is in. The kernel tells a child alone that its parent was killed,
// and who is started by a shell is none: so the leader, which is one, ends the whole group, of which it also inherits
// those whose parents have ended. It ends as the program does.
[[noreturn]] void lead(pid_t parent, const Program& program) {
  setpgid(0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t awaited;
  sigset_t before;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGCHLD);
  sigprocmask(SIG_BLOCK, &awaited, &before);
  std::signal(SIGCHLD, SIG_DFL);  // of what is ignored no signal comes
  end_with_parent(parent, SIGTERM);
  const pid_t leader = getpid();
  const pid_t child = fork();
  if (child < 0) give_up(program, errno);
  if (child == 0) become(leader, program, before);
  leave_descriptors();
  for (;;) {
    if (sigwaitinfo(&awaited, nullptr) == SIGTERM) end_group();
    bool nobody_left = false;
    const std::optional<int> status = reap(child, nobody_left);
    if (status && WIFEXITED(*status)) _exit(WEXITSTATUS(*status));
    if (status) kill(leader, SIGKILL);
  }
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

// Its number is its own until somebody has waited for it.
bool was_killed(pid_t child) {
  siginfo_t end{};
  const bool has_ended =
      waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == child;
  return has_ended && end.si_code != CLD_EXITED;
}

void kill_and_reap(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  await_end(child);
}

// The status of the process once it has ended; nothing if an interrupt or the deadline came first, and then it is gone,
// too. Where it was killed nobody is left to end those that the program has started.
std::optional<int> wait_for(pid_t child, const Deadline& deadline) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  for (;;) {
    if (was_killed(child)) kill(-child, SIGKILL);
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

// A file of its own, whatever has that name: what a link there points to is not the log's, and a FIFO may have no
// reader.
UniqueFd new_log(const std::string& path) {
  unlink(path.c_str());
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) throw UserError(sanitised(path) + " cannot be made: " + errno_text());
  return file;
}

}  // namespace

Interrupts::Interrupts() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool Interrupts::came() { return interrupted != 0; }

int run_program(std::vector<std::string> words, const std::string& log, Deadline deadline, Handed handed) {
  const UniqueFd output = new_log(log);
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
  if (child == 0) lead(parent, {argv, environment, output.get(), problem_end.get(), handed.descriptor});
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

}  // namespace msrun::shrink
