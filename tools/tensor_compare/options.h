// The command line of tensor_compare as one plain struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"
#include "kernels/compare/metrics/standards.h"

namespace msrun::tensor_compare {

enum class Format : std::uint8_t { csv, table };
enum class FailOn : std::uint8_t { never, error, warning };

struct Options {
  // Either both files, or the cases.
  std::string bench_path;
  std::string device_path;
  std::string cases_path;

  std::string api;  // full or short name; empty: from the name of the device's file
  std::optional<DType> bench_dtype;
  std::optional<DType> device_dtype;
  Policy policy = Policy::per_api;
  Limits limits = Limits::current;
  bool compat_msprobe = false;

  std::optional<Format> format;  // unset: table for two files on a terminal, else csv
  std::optional<bool> english;   // unset: English in a table, Chinese in CSV
  int precision = 14;            // decimals of double precision cells, 0..20
  FailOn fail_on = FailOn::never;
};

// argv[0] is ignored. Throws UserError on usage errors, one line without the program's name.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::tensor_compare
