// The search from options to exit code.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "tools/overflow_check/options.h"

namespace msrun::overflow_check {

// Lines go to out, warnings one by one to warn. Returns an exit code; throws UserError.
int check(const Options& options, std::ostream& out, const std::function<void(const std::string&)>& warn);

}  // namespace msrun::overflow_check
