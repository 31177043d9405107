// The command line of parse as one plain struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "kernels/base/command_line/arguments.h"

namespace msrun::parse {

enum class Format : std::uint8_t { csv, table };
enum class FileType : std::uint8_t { npy, pt };

struct Options {
  std::string input;     // a file or a directory
  std::string out_path;  // directory of the files that are written; empty: none are
  FileType type = FileType::npy;
  bool statistics = false;       // the table has those of the values
  std::optional<Format> format;  // unset: table on a terminal, else csv
};

// argv[0] is ignored. Throws UserError on usage errors, one line without the program's name.
std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv);

}  // namespace msrun::parse
