// The runs that a search has made: each in a folder of its own, remembered with the command that made it, so that a
// search that was interrupted goes on.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/runs/run.h"

namespace msrun::run_bisect {

// What became of the run of a version.
struct MadeRun {
  std::optional<runs::Run> run;  // none: it cannot be tried
  std::string problem;           // why
  bool was_there = false;        // made by an earlier search
};

class MadeRuns {
 public:
  // The folder is made if it is missing. Throws UserError, also for a folder whose notes cannot be read.
  MadeRuns(std::string folder, std::string command);

  // The run of a version, made by the command unless it is there. Throws shrink::SearchEnds where an interrupt ends it,
  // and UserError for what lies in its place and is not of a search.
  MadeRun run_of(const std::string& version);
  // How many times the command was started.
  std::size_t started() const { return started_; }
  // What the command printed for that version.
  std::string log_of(const std::string& version) const;

 private:
  std::string folder_of(const std::string& version) const;
  std::string line_for(const std::string& version) const;
  MadeRun make(const std::string& version);
  static MadeRun judged(const std::string& folder, int exit_code);
  void note(const std::string& version, const nlohmann::ordered_json& what);

  std::string folder_;
  std::string command_;
  nlohmann::ordered_json notes_;
  std::size_t started_ = 0;
};

}  // namespace msrun::run_bisect
