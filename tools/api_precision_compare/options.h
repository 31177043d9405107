// The command line of api_precision_compare (precision_metrics.md 10.1) as one plain struct.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"
#include "tools/api_precision_compare/judge.h"

namespace msrun::api_precision_compare {

enum class FailLevel : std::uint8_t { never, error, warning };

struct Options {
  std::string npu_path;  // empty: what the current folder has
  std::string gpu_path;
  std::string out_path = "./";
  std::string config_path;  // empty: the config.yaml of an installed msProbe, if there is one
  Rules rules;
  FailLevel fail_on = FailLevel::never;
};

// argv[0] is ignored. Throws UserError on usage errors, one line without the program's name.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::api_precision_compare
