// How a child process ended, in words.
#pragma once

#include <string>

namespace msrun {

// "killed by signal 9 (SIGKILL)" or "ended with exit code 3", of a wait status.
std::string death_text(int wait_status);

// What the process did, by a wait status: "was killed by signal 9 (SIGKILL)" or "ended with exit code 3".
std::string end_text(int wait_status);

}  // namespace msrun
