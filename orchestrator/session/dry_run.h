// --dry-run: what a run would do, before anything runs or is written.
#pragma once

#include <iosfwd>

#include "orchestrator/session/job.h"

namespace msrun {

// Prints to out, as text or as one event, how many calls of which operator and dtype would run, which are skipped and
// why, and for how long and in how much memory. Returns the exit code: a run that would check nothing is no success.
int say_what_would_run(const SessionState& session, std::ostream& out);

}  // namespace msrun
