// The command line of run_diff, which is msrun diff.
#pragma once

#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"

namespace msrun::run_diff {

struct Options {
  std::string run_a;
  std::string run_b;
  std::string csv;   // file to write; empty: none, "-": stdout, in place of the text
  std::string html;  // file to write; empty: none
  bool json = false;
  bool all = false;  // every call in the text, and in the CSV and the JSON also those that are the same
};

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::run_diff
