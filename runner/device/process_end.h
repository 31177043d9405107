// How a process that served a device ended, in words.
#pragma once

#include <string>

namespace msrun {

// "was killed by signal 11 (SIGSEGV)", "ended with exit code 70".
std::string end_text(int wait_status);

}  // namespace msrun
