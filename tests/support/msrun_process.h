// Runs the real msrun and looks at what a user would see: exit code, output, files, processes.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace msrun::testing {

struct Finished {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out;
  std::string err;
  std::uint64_t peak = 0;  // bytes its largest process had in memory
};

// A running msrun. Killed, with everything below it, if the test ends first.
class Process {
 public:
  // arguments without the program; environment entries "NAME=value" are added. program is one of those built, or an
  // absolute path.
  Process(const std::vector<std::string>& arguments, const fs::path& scratch,
          const std::vector<std::string>& environment = {}, const std::string& program = "msrun");
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  bool running();
  Finished wait();
  // Output so far.
  std::string out() const;

 private:
  // Whether it has ended, which is then noted; flags as for waitpid.
  bool reap(int flags);

  pid_t pid_ = -1;
  int status_ = 0;
  std::uint64_t peak_ = 0;
  bool reaped_ = false;
  fs::path out_;
  fs::path err_;
};

Finished msrun(const std::vector<std::string>& arguments, const fs::path& scratch,
               const std::vector<std::string>& environment = {});

// One of the tools beside msrun.
Finished run_tool(const std::string& name, const std::vector<std::string>& arguments, const fs::path& scratch);

// Processes whose parent is pid, by name of the command.
std::map<pid_t, std::string> children(pid_t pid);
// Waits up to seconds for condition.
bool eventually(double seconds, const std::function<bool()>& condition);

// The only file in directory whose name starts with prefix.
fs::path only_file(const fs::path& directory, const std::string& prefix);
// The only journal in directory.
fs::path only_journal(const fs::path& directory);

// The CSV whose name starts with prefix; empty if there is none yet. A killed supervisor may have left a temporary file
// beside it, which the next one takes.
fs::path csv_in(const fs::path& directory, const std::string& prefix);

using Rows = std::vector<std::vector<std::string>>;
// All rows of a CSV, the header first.
Rows read_csv(const fs::path& path);

// First column of every row but the header.
std::vector<std::string> names(const Rows& rows);

fs::path dump(const std::string& name);
fs::path golden(const std::string& name, const std::string& file);

}  // namespace msrun::testing
