// Runs one call in a fresh msrun and reads what became of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/results/result.h"
#include "runner/workers/shared_forks.h"
#include "tools/shrink/process.h"

namespace msrun::shrink {

struct TrialResult {
  std::optional<ApiResult> result;
  std::string backend;    // that the call ran on, "torch:cpu"
  std::string complaint;  // the last line that msrun printed, where there is no result
};

class Trial {
 public:
  // options are words of msrun's command line. folder is one of our own, in which results are kept for a moment.
  Trial(std::vector<std::string> options, std::string folder);

  // Runs the call of that name of the recording that input names ("-api_info", "dump.json"). Throws SearchEnds where an
  // interrupt comes, or the deadline, before the run has ended; UserError if msrun cannot be started.
  TrialResult run(const std::vector<std::string>& input, const std::string& name,
                  std::optional<std::chrono::steady_clock::time_point> deadline) const;

  // From here on one process that has imported the framework forks the workers of all runs, if the backend, as a result
  // names it, has such workers: else every run imports it, which takes longer than what most runs do. Without it, and
  // where it ends, runs are as before.
  void share_workers(const std::string& backend);

  // The command line, for readers: "msrun -api_info dump.json --backend sim".
  std::string command(const std::string& dump) const;
  void set_options(std::vector<std::string> options) { options_ = std::move(options); }

 private:
  std::vector<std::string> options_;
  std::string folder_;
  std::unique_ptr<SharedForks> workers_;
};

}  // namespace msrun::shrink
