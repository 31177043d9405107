// The command line of graph as one plain struct.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"
#include "tools/graph/captions.h"

namespace msrun::graph {

struct Options {
  std::string npu_path;
  std::string bench_path;                 // empty: one graph
  std::vector<std::string> ignored_keys;  // of the file of -i
  std::string output_path;
  std::optional<std::string> mapping;  // empty: a mapping without entries
  bool overflow = false;
  bool fuzzy = false;
  bool complete_stacks = false;
  bool vis = true;
  bool db = true;
  bool html = false;
  bool compat = false;  // .vis as msprobe 1.2.1
  bool allow_missing = false;
  bool progress = false;
  Language language = Language::english;
  std::string framework;  // as the user believes; empty: no opinion
  std::size_t threads = 1;
};

// argv[0] is ignored. Throws UserError on usage errors, one line without the program's name.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::graph
