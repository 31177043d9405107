// What programs make of the signals that they were started with, and how they wait for the processes that they start.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <vector>

namespace msrun {

// For every program, once, before it does anything. A file that may not grow (SIGXFSZ) and a reader that has gone away
// (SIGPIPE) are failed writes, and not the end of the process. Processes that have ended are there to be waited for,
// whatever whoever started this program made of SIGCHLD: where that is ignored the kernel reaps them itself.
void settle_signals();

// Undoes that before another program is run, which would inherit what is ignored. Safe between fork and exec.
void unsettle_signals();

// In a process that was just forked: it gets the signal when the thread of `parent` that forked it ends, and ends at
// once if that has happened already, which no signal would tell. Safe between fork and exec.
void end_with_parent(pid_t parent, int signal);

// Whether a process of this host is stopped, by SIGSTOP or a debugger. One that is not there is not.
bool is_stopped(pid_t process);

// The processes that a process of this host has forked and that are there; none if it is not.
std::vector<pid_t> children_of(pid_t process);

// Of a process whose status somebody else has taken: nobody knows that it has succeeded, nor that it has blamed anyone.
inline constexpr int unknown_wait_status = SIGKILL;

// The wait status of a child that has ended, unknown_wait_status if that cannot be had any more; nothing while it runs.
// Afterwards its number may be another process's.
std::optional<int> end_of(pid_t child, rusage* usage = nullptr);

// Likewise, after waiting for its end.
int await_end(pid_t child);

}  // namespace msrun
