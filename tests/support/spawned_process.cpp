#include "tests/support/spawned_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

void append_available(int descriptor, std::string& text) {
  std::array<char, 65536> bytes;
  for (ssize_t count; (count = ::read(descriptor, bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

bool is_replaced(const std::string& entry, const std::vector<std::string>& environment) {
  const std::string name = entry.substr(0, entry.find('='));
  for (const std::string& other : environment) {
    if (other.substr(0, other.find('=')) == name) return true;
  }
  return false;
}

// Until nothing more fits.
void fill_end(int descriptor) {
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  const std::string filler(4096, 'x');
  while (::write(descriptor, filler.data(), filler.size()) > 0) {
  }
  fcntl(descriptor, F_SETFL, 0);
}

}  // namespace

OutputEnd::OutputEnd(const std::string& path) : end_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {}

FullPipe::FullPipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  read_.reset(ends[0]);
  write_.reset(ends[1]);
  fcntl(read_.get(), F_SETFL, O_NONBLOCK);
  fill_end(write_.get());
}

std::string FullPipe::read() {
  std::string text;
  append_available(read_.get(), text);
  return text;
}

Terminal::Terminal(unsigned short columns) : screen_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  if (!screen_ || grantpt(screen_.get()) != 0 || unlockpt(screen_.get()) != 0) throw std::runtime_error("no terminal");
  program_.reset(::open(ptsname(screen_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  const winsize size{24, columns, 0, 0};
  ioctl(screen_.get(), TIOCSWINSZ, &size);
  fcntl(screen_.get(), F_SETFL, O_NONBLOCK);
}

void Terminal::fill() { fill_end(program_.get()); }

const std::string& Terminal::text() {
  append_available(screen_.get(), text_);
  return text_;
}

SpawnedProcess::SpawnedProcess(const std::vector<std::string>& arguments, Outputs outputs, const fs::path& scratch,
                               const std::vector<std::string>& environment) {
  static int count = 0;
  err_ = scratch / ("spawned_stderr." + std::to_string(++count));
  const std::string program = programs() + "/msrun";
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_replaced(*entry, environment)) env.push_back(*entry);
  }
  for (const std::string& entry : environment) {
    if (entry.find('=') != std::string::npos) env.push_back(const_cast<char*>(entry.c_str()));
  }
  env.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, outputs.out, 1);
  if (outputs.err >= 0) {
    posix_spawn_file_actions_adddup2(&actions, outputs.err, 2);
  } else {
    posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  const int result = posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  if (result != 0) throw std::runtime_error("cannot start " + program);
}

SpawnedProcess::~SpawnedProcess() {
  if (code_) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool SpawnedProcess::running() {
  int status = 0;
  if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return !code_;
}

std::optional<int> SpawnedProcess::wait(double seconds) {
  eventually(seconds, [&] { return !running(); });
  return code_;
}

}  // namespace msrun::testing
