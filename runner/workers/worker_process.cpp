#include "runner/workers/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/own_programs.h"
#include "kernels/base/processes.h"
#include "kernels/base/search_paths.h"
#include "kernels/base/text.h"
#include "runner/workers/frames.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

// Descriptors of the worker (msrun_worker/protocol.py).
constexpr int control_descriptor = 3;
constexpr int fault_descriptor = 4;
constexpr int lifeline_descriptor = 5;
// Above these, so that none is in the way of another.
constexpr int lowest_of_ours = 16;

UniqueFd moved_up(int descriptor) {
  UniqueFd low(descriptor);
  UniqueFd high(fcntl(descriptor, F_DUPFD_CLOEXEC, lowest_of_ours));
  // Beyond the limit no number is valid.
  if (!high && errno == EINVAL) errno = EMFILE;
  if (!high) throw_errno("F_DUPFD");
  return high;
}

// The end to read from and the one to write to.
std::pair<UniqueFd, UniqueFd> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("pipe");
  UniqueFd write_end(ends[1]);
  UniqueFd read_end = moved_up(ends[0]);
  write_end = moved_up(write_end.release());
  return {std::move(read_end), std::move(write_end)};
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> arguments_of(const WorkerProcess::Start& start) {
  std::vector<std::string> words{start.options.python,
                                 "-B",  // no compiled files beside the program
                                 "-W",
                                 "ignore",
                                 find_worker(*start.options.framework),
                                 "--protocol",
                                 std::to_string(worker_protocol_version),
                                 "--device",
                                 start.options.kind,
                                 "--index",
                                 std::to_string(start.device_id)};
  if (start.options.jit_compile) words.emplace_back("--jit");
  if (start.inspect) words.emplace_back(WorkerProcess::can_fork(start.options) ? "--forks" : "--inspect");
  if (start.memory > 0) words.insert(words.end(), {"--memory", std::to_string(start.memory)});
  return words;
}

std::vector<std::string> environment_of(const WorkerProcess::Start& start) {
  std::vector<std::string> changes{// torch_npu is imported where an NPU is meant, and only there.
                                   "TORCH_DEVICE_BACKEND_AUTOLOAD=0"};
  // Sums are split by the number of threads, and each lane is a thread that may have others: results would depend on
  // the host, and on which lane ran what before.
  if (start.options.kind == "cpu") {
    changes.insert(changes.end(), {"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"});
  }
  if (start.blocking) changes.insert(changes.end(), {"ASCEND_LAUNCH_BLOCKING=1", "CUDA_LAUNCH_BLOCKING=1"});
  std::vector<std::string> environment = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool is_changed = false;
    for (const std::string& change : changes) is_changed = is_changed || change.starts_with(name);
    if (!is_changed) environment.emplace_back(text);
  }
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// Whether something, or the end, comes within so many seconds. They are counted one by one: those in which this process
// is stopped are none.
bool comes_within(int descriptor, int seconds) {
  for (; seconds > 0; --seconds) {
    pollfd ready{descriptor, POLLIN, 0};
    if (poll(&ready, 1, 1000) > 0) return true;
  }
  return false;
}

// Between fork and exec in a process that may have had threads: nothing but system calls.
[[noreturn]] void become(pid_t parent, int control, int fault, int lifeline, int output, char* const* arguments,
                         char* const* environment) {
  end_with_parent(parent, SIGKILL);
  // What Ctrl-C on the terminal, its closing or the end of a job means is the supervisor's to say.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  // Whatever libraries print is not to come between the results on stdout.
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  dup2(control, control_descriptor);
  dup2(fault, fault_descriptor);
  dup2(lifeline, lifeline_descriptor);
  close_range(lifeline_descriptor + 1, ~0U, 0);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

}  // namespace

std::string find_python(const std::string& python, const WorkerFramework& framework) {
  std::string name = python;
  const char* from = "--python";
  if (name.empty()) {
    const char* variable = std::getenv("MSRUN_PYTHON");
    from = "MSRUN_PYTHON";
    if (variable != nullptr) name = variable;
  }
  const bool is_default = name.empty();
  if (is_default) name = "python3";
  if (name.find('/') != std::string::npos) {
    if (is_program(name)) return name;
    throw UserError(std::string(from) + ": " + sanitised(name) + " is no program that can be run");
  }
  const char* variable = std::getenv("PATH");
  for (const std::string& folder : listed_folders(variable == nullptr ? "/usr/bin:/bin" : variable)) {
    const fs::path candidate = fs::path(folder) / name;
    if (is_program(candidate)) return candidate.string();
  }
  if (is_default) {
    const std::string package(framework.name);
    throw UserError("--backend " + package + " runs the calls with the " + package +
                    " of a Python, and there is no python3 in PATH: name one that has " + package +
                    " with --python or MSRUN_PYTHON");
  }
  throw UserError(std::string(from) + ": there is no " + sanitised(name) + " in PATH");
}

std::string find_worker(const WorkerFramework& framework) {
  std::error_code error;
  const fs::path program = own_program("msrun");
  const fs::path worker =
      program.parent_path().parent_path() / "lib" / "msrun" / ("msrun_" + std::string(framework.name) + "_worker");
  const fs::path common = worker.parent_path() / "msrun_worker" / "server.py";
  if (!fs::exists(worker / "__main__.py", error) || !fs::exists(common, error)) {
    throw UserError("The files of the " + std::string(framework.name) + " worker are not in " +
                    sanitised(worker.string()) + ", where they are installed with the program.");
  }
  return worker.string();
}

WorkerProcess::WorkerProcess(const Start& start) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno("socketpair");
  UniqueFd other(ends[1]);
  control_ = moved_up(ends[0]);
  other = moved_up(other.release());
  auto [fault_end, fault] = make_pipe();
  fault_ = std::move(fault_end);
  fcntl(fault_.get(), F_SETFL, O_NONBLOCK);
  if (start.forks.socket >= 0 && ask_for_fork(start, other.get(), fault.get())) return;
  launch(start, other.get(), fault.get());
}

// False if nobody forks any more.
bool WorkerProcess::ask_for_fork(const Start& start, int control, int fault) {
  auto [status, status_end] = make_pipe();
  auto [lifeline_end, lifeline] = make_pipe();
  const std::array descriptors{control, fault, status_end.get(), lifeline_end.get()};
  const std::string text = R"({"fork":{"device":)" + std::to_string(start.device_id) + R"(,"memory":)" +
                           std::to_string(start.memory) + R"(,"blocking":)" + (start.blocking ? "true" : "false") +
                           "}}";
  if (!send_frame(start.forks.socket, text, descriptors)) return false;
  status_end.reset();
  if (!comes_within(status.get(), start.silence)) {
    if (is_stopped(start.forks.pid)) kill(start.forks.pid, SIGKILL);
    return false;
  }
  std::int32_t pid = -1;
  if (read(status.get(), &pid, sizeof(pid)) != sizeof(pid)) return false;
  pid_ = pid;
  status_ = std::move(status);
  lifeline_ = std::move(lifeline);
  return true;
}

void WorkerProcess::launch(const Start& start, int control, int fault) {
  std::vector<std::string> words = arguments_of(start);
  std::vector<std::string> variables = environment_of(start);
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  auto [lifeline_end, lifeline] = make_pipe();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw_errno("fork");
  if (pid == 0) {
    become(parent, control, fault, lifeline_end.get(), start.output, arguments.data(), environment.data());
  }
  lifeline_ = std::move(lifeline);
  pid_ = pid;
}

WorkerProcess::~WorkerProcess() {
  if (pid_ <= 0 || (status_ && read_status(0))) return;
  kill(pid_, SIGKILL);
  // A process that was forked elsewhere has another parent.
  if (status_) return;
  await_end(pid_);
}

// Whether a process that was forked elsewhere has ended.
bool WorkerProcess::read_status(double seconds) {
  pollfd status{status_.get(), POLLIN, 0};
  if (poll(&status, 1, static_cast<int>(seconds * 1000)) <= 0) return false;
  std::int32_t wait_status = 0;
  // Without its parent nobody knows how it ended.
  if (read(status_.get(), &wait_status, sizeof(wait_status)) != sizeof(wait_status)) {
    wait_status = unknown_wait_status;
  }
  wait_status_ = wait_status;
  pid_ = -1;
  return true;
}

bool WorkerProcess::reap(double seconds) {
  if (status_) return read_status(seconds);
  const double deadline = steady_seconds() + seconds;
  while (true) {
    if (const std::optional<int> status = end_of(pid_)) {
      wait_status_ = *status;
      pid_ = -1;
      return true;
    }
    if (steady_seconds() > deadline) return false;
    usleep(1000);
  }
}

WorkerProcess::End WorkerProcess::end() {
  constexpr double patience = 5;
  if (pid_ > 0 && !reap(patience)) {
    kill(pid_, SIGKILL);
    // Who forked it may be stopped, and tells nobody.
    if (!reap(patience)) wait_status_ = unknown_wait_status;
  }
  End end{wait_status_, {}};
  std::array<char, 4096> bytes;
  while (true) {
    const ssize_t count = read(fault_.get(), bytes.data(), bytes.size());
    if (count <= 0) return end;
    end.fault.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

void WorkerProcess::dismiss() {
  constexpr double patience = 2;
  control_.reset();
  if (pid_ > 0) reap(patience);
}

std::optional<std::uint64_t> faulting_thread(const std::string& fault) {
  constexpr std::string_view mark = "Current thread 0x";
  const std::size_t at = fault.find(mark);
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t ident = 0;
  const char* first = fault.data() + at + mark.size();
  const auto [end, error] = std::from_chars(first, fault.data() + fault.size(), ident, 16);
  if (error != std::errc{}) return std::nullopt;
  return ident;
}

}  // namespace msrun
