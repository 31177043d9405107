// The command line of torchair_compare (torchair.md 1) as one plain struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"

namespace msrun::torchair {

struct Options {
  std::string target_path;
  std::string golden_path;
  std::string output_path = ".";
  std::optional<std::uint64_t> rank;
  bool legacy_columns = false;
  bool checksums = false;
  bool html = false;
  bool details = false;     // tell of operators without a counterpart too
  std::size_t threads = 0;  // 0: one for each processor
};

// argv[0] is ignored. Throws UserError, one line without the program's name.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::torchair
