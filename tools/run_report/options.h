// The command line of run_report as one plain struct.
#pragma once

#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"

namespace msrun::run_report {

struct Options {
  std::string run;       // a folder, a CSV of a run, its journal, or a result file of any name
  std::string out_path;  // the file to write; empty: beside the CSVs, "-": stdout
  bool share = false;    // without paths, host names and values
};

// argv[0] is ignored. Throws UserError on usage errors, one line without the program's name.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::run_report
