// The words behind `msrun merge`: journals of the parts of one run, of which one run is made.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "kernels/base/command_line/arguments.h"

namespace msrun {

struct MergeOptions {
  std::string program = "msrun";   // as this process was started
  std::vector<std::string> paths;  // journals, CSVs beside them, or directories that hold them; at least one
  std::string out_path = "./";     // directory of the merged run
  bool json = false;               // one JSON object in place of the text
};

// The words after "merge". Throws UserError.
std::variant<MergeOptions, PrintAndExit> parse_merge_options(const std::vector<std::string>& words);

}  // namespace msrun
