// The command line of op_generate (op_generate_and_code_mapping.md A.1) as one plain struct.
#pragma once

#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"
#include "tools/op_generate/configuration.h"
#include "tools/op_generate/native_run.h"

namespace msrun::op_generate {

struct Options {
  std::string input;  // a configuration; with an API a dump
  std::string output = "./";
  // Straight from a dump, without a configuration file; its API is empty otherwise.
  Configuration from_dump;
  bool run = false;
  SeedMode seed_mode = SeedMode::stream;
  std::string inputs_path;  // of --save-inputs
  bool allow_outside_data = false;
};

// argv[0] is ignored. Throws UserError on usage errors, one line without the program's name.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::op_generate
