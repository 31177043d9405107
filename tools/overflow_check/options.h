// The command line of the search for the first NaN over all ranks.
#pragma once

#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"

namespace msrun::overflow_check {

struct Options {
  std::string input_path;
  std::string output_path = "./output";
};

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::overflow_check
