// For tests of input that is refused and of runs that are stopped: what a run left behind, on disk, in /dev/shm and in
// the process table.
#pragma once

#include <sys/resource.h>

#include <map>
#include <set>
#include <string>

#include "tests/support/msrun_process.h"

namespace msrun::testing {

// Path below directory -> contents; directories have none. What Process writes there itself is left out.
std::map<std::string, std::string> snapshot(const fs::path& directory);

std::set<std::string> shared_memory_names();

// Processes with marker on their command line: a runner has that of its supervisor.
int processes_with(const std::string& marker);

// Programs that are started while it lives inherit the limit.
class InheritedLimit {
 public:
  InheritedLimit(__rlimit_resource resource, rlim_t value);
  ~InheritedLimit();
  InheritedLimit(const InheritedLimit&) = delete;
  InheritedLimit& operator=(const InheritedLimit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

// A test that may leave nothing but result files.
class Untouched : public ::testing::Test {
 protected:
  ~Untouched() override;

  // msrun with these arguments must end with exit code 2 and one line on stderr that holds all of parts, and must
  // change nothing on disk. Returns the run for more questions.
  Finished expect_refused(const std::vector<std::string>& arguments, const std::vector<std::string>& parts);
  // A dump.json of its own with this text.
  std::string write_dump(const std::string& text);

  fs::path out() const { return scratch_ / "out"; }
  // Nothing in out() but journal, CSVs and the directories of the devices.
  void expect_only_result_files() const;

  TemporaryDirectory scratch_;

 private:
  std::set<std::string> shared_memory_before_ = shared_memory_names();
  int dumps_ = 0;
};

// A dump.json around the members of "data".
std::string dump_text(const std::string& data);

}  // namespace msrun::testing
