// The command line of the comparison of two dumps (dump_compare.md 1).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "kernels/base/command_line/arguments.h"
#include "tools/dump_compare/comparison.h"

namespace msrun::dump_compare {

struct Options {
  std::string target_path;
  std::string golden_path;
  std::string stack_path;                 // of -i; empty: beside the target's dump.json
  std::vector<std::string> ignored_keys;  // of the file of -i
  std::string output_path = "./output";
  std::string right_matmul;  // file of matrices; empty: none
  MappingFiles mapping;
  bool compat = false;  // as msProbe, cell by cell
  bool xlsx = false;
  bool html = false;
  bool first_divergence = false;
  bool check_suspects = false;
  bool pair_by_order = false;
  bool log_rows = false;
  bool log_rows_asked = false;      // on the command line; the file of -i has it by default
  std::optional<double> tolerance;  // of the search for the first divergence
  std::optional<std::set<std::uint64_t>> ranks;
  std::optional<std::set<std::uint64_t>> steps;
  std::size_t threads = 1;
  std::optional<Level> fail_on;
};

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::dump_compare
