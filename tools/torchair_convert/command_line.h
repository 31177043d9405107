// The command line of torchair_convert.
#pragma once

#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"
#include "tools/torchair_convert/convert_file.h"

namespace msrun::convert {

struct Options {
  std::string data_path;
  bool once = false;
  Statistics statistics = Statistics::minmax;
  double interval = 0.5;  // seconds between two looks at the tree
  double settle = 1.0;    // seconds that a file must have been left alone
  int workers = 0;        // files converted at the same time; at least 1
  bool quiet = false;     // no line per file
  bool verbose = false;   // a warning for every file that is left, however many are alike
};

// argv[0] is ignored. Throws UserError, one line without the program's name.
std::variant<Options, PrintAndExit> parse_command_line(int argc, const char* const* argv);

}  // namespace msrun::convert
