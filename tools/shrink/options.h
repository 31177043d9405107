// The command line of shrink as one plain struct.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/base/command_line/arguments.h"
#include "runner/results/run_header.h"

namespace msrun::shrink {

struct Options {
  std::string api;     // "Torch.matmul.0"
  std::string input;   // dump.json, or the journal, a CSV or the folder of a run
  std::string output;  // the folder to be made
  // Fresh processes that must fail in a row: the call as it was recorded, and both results. Given on the command line
  // it holds for every step as well.
  int times = 3;
  int times_of_a_step = 1;
  double seconds = 60;        // after which the best so far is the result
  std::optional<int> device;  // -d
  // What decides about a result and is handed on to the pre-check: --backend, --sim-fault, --seed, ...
  std::vector<OptionWords> of_the_run;
};

// argv[0] is ignored. Throws UserError on usage errors, one line without the program's name.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::shrink
