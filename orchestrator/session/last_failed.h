// --last-failed: the calls that the last run found wrong, could not run, or did not come to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orchestrator/session/job.h"

namespace msrun {

// What the last run in a folder leaves to check.
struct LastFailed {
  // Patterns that mean one call each, for --only: of those that are left the ones that the options choose.
  std::vector<std::string> calls;
  std::size_t left = 0;               // calls that the last run does not know to be right, whatever the options choose
  std::string sentence;               // how many of which run
  std::vector<std::string> warnings;  // what is wrong with the journal, one sentence each
};

// By the newest journal in the folder of the results: the calls that are suspicious or failed to run, and those of the
// same selection that have no result there, be it that the run was stopped or that its journal is damaged. plan_options
// are those of the plan of the session. Throws UserError if there is no such journal, if it is of a part of a run or is
// still written, or has calls that the recording has not; journal::Error if nothing can be read from it.
LastFailed find_last_failed(const SessionState& session, const PlanOptions& plan_options);

}  // namespace msrun
