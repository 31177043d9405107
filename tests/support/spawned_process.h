// msrun with standard output and error of the test's choice: a pipe that nobody reads, a terminal, a full device.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "kernels/base/unique_fd.h"
#include "tests/support/msrun_process.h"

namespace msrun::testing {

// Descriptors for a program to write to.
class OutputEnd {
 public:
  // A file or device, opened for writing.
  explicit OutputEnd(const std::string& path);
  int descriptor() const { return end_.get(); }

 private:
  UniqueFd end_;
};

// A pipe that is full from the start and that nobody reads.
class FullPipe {
 public:
  FullPipe();
  int descriptor() const { return write_.get(); }
  // Takes everything that is in the pipe now.
  std::string read();

 private:
  UniqueFd read_;
  UniqueFd write_;
};

// A terminal of 24 lines.
class Terminal {
 public:
  explicit Terminal(unsigned short columns);
  // For the program.
  int descriptor() const { return program_.get(); }
  // Leaves no room for anything more, as if it had been stopped long ago.
  void fill();
  // Adds what the program has printed meanwhile; the whole text so far.
  const std::string& text();

 private:
  UniqueFd screen_;
  UniqueFd program_;
  std::string text_;
};

// A running msrun. Killed if the test ends first.
class SpawnedProcess {
 public:
  struct Outputs {
    int out;
    int err;  // -1: a file of its own, for err()
  };
  // environment entries "NAME=value" are added, "NAME" alone is removed.
  SpawnedProcess(const std::vector<std::string>& arguments, Outputs outputs, const fs::path& scratch,
                 const std::vector<std::string>& environment = {});
  ~SpawnedProcess();
  SpawnedProcess(const SpawnedProcess&) = delete;
  SpawnedProcess& operator=(const SpawnedProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  bool running();
  // The exit code, 128 + signal if it was killed; nothing if it still runs after so many seconds.
  std::optional<int> wait(double seconds);
  std::string err() const { return read_file(err_); }

 private:
  pid_t pid_ = -1;
  fs::path err_;
  std::optional<int> code_;
};

}  // namespace msrun::testing
