// The command line of run_bisect, which is msrun bisect.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "kernels/base/command_line/arguments.h"

namespace msrun::run_bisect {

struct Options {
  std::string good;                   // a run, or a version
  std::string bad;                    // likewise
  std::string command;                // with {version} and {out}
  std::vector<std::string> versions;  // as given with --versions; empty: not given
  std::string api;                    // pattern of the calls to follow; empty: whatever is new
  std::string out_path = "msrun_bisect";
};

// Throws UserError, also for a file of versions that cannot be read.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::run_bisect
