// What the system calls the host that this process runs on.
#pragma once

#include <string>

namespace msrun {

// Empty if the system does not say.
std::string system_host_name();

}  // namespace msrun
