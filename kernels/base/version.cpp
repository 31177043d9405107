#include "kernels/base/version.h"

namespace msrun {

std::string_view program_version() { return MSRUN_VERSION; }

}  // namespace msrun
