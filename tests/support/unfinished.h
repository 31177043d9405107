// For tests that continue a run: one that was killed when nearly all of its calls were done, and what the same run
// looks like undisturbed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/untouched.h"

namespace msrun::testing {

class Unfinished : public Untouched {
 protected:
  // A run of llama_bf16 (84 calls) that is busy with one that never ends. It is among the four smallest, so nearly all
  // others come first.
  std::unique_ptr<Process> busy_run(const std::vector<std::string>& more = {});
  // The result file of such a run after SIGKILL.
  fs::path killed_run(const std::vector<std::string>& more = {});
  // msrun on the same dump with -csv_path.
  Finished resume(const fs::path& result, const std::vector<std::string>& more = {}) const;

  std::size_t finished_calls() const;
  fs::path journal() const { return only_journal(out()); }

  // Both CSVs in out() are those of an undisturbed run with these further arguments.
  void expect_as_if_undisturbed(const std::vector<std::string>& more = {});

 private:
  int undisturbed_ = 0;
};

}  // namespace msrun::testing
