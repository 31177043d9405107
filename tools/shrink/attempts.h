// Candidates are tried here: each is written, run by a fresh process as it lies there, and becomes the result if it
// fails for the same cause.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "tools/shrink/cause.h"
#include "tools/shrink/recording.h"
#include "tools/shrink/trial.h"

namespace msrun::shrink {

struct AttemptOptions {
  int times = 1;  // processes in a row that must fail
  // A place is no contradiction to a cause of the whole output (cause.h).
  bool anywhere = false;
  std::chrono::steady_clock::time_point deadline;
  std::string output;  // the folder of the results
  std::string work;    // a folder in it, for candidates
};

class Attempts {
 public:
  Attempts(const Trial& trial, const Cause& cause, AttemptOptions options);

  // Whether the candidate fails for the same cause; then output/name holds it, in place of what was there. Candidates
  // that were refused before are refused again without being run. Throws SearchEnds when the time is up.
  bool accept(const Recording& candidate, const std::string& name);

  // Throws SearchEnds when the time is up, or an interrupt came.
  void check_time() const;

  struct Failures {
    int failed = 0;  // for the same cause
    int runs = 0;    // that came to their end
  };
  // Runs the recording in output/name so many times; ends with the first run that does not fail for the same cause,
  // with an interrupt and at that time. The last result is kept.
  Failures count_failures(const std::string& name, const std::string& api, int times,
                          std::chrono::steady_clock::time_point until);

  // Writes a recording that is known to fail as output/name.
  void publish(const Recording& recording, const std::string& name);

  // Takes the progress off the terminal.
  void end_progress() const;

  void set_deadline(std::chrono::steady_clock::time_point deadline) { options_.deadline = deadline; }
  const ApiResult& last_result() const { return last_; }
  std::int64_t runs() const { return runs_; }
  const std::string& output() const { return options_.output; }

 private:
  bool fails(const ApiResult& result) const;
  void put_in_place(const std::string& name) const;
  void show_progress(const Recording& candidate) const;

  const Trial& trial_;
  const Cause& cause_;
  AttemptOptions options_;
  std::unordered_set<std::uint64_t> refused_;
  ApiResult last_;
  std::int64_t runs_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool on_terminal_;
};

}  // namespace msrun::shrink
