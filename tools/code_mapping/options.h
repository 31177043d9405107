// The command line of code_mapping (op_generate_and_code_mapping.md B.1) as one plain struct.
#pragma once

#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"

namespace msrun::code_mapping {

struct Options {
  std::string ir;
  std::string dump_data;
  std::string output = "./";
  bool verbose = false;
};

// argv[0] is ignored. Throws UserError on usage errors, one line without the program's name.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::code_mapping
