// The JSON object in which older command lines of msProbe give what is compared (compare.json).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msrun {

// What a file does not give is empty.
struct ComparisonFile {
  std::string npu_path;
  std::string bench_path;
  std::string stack_path;
  std::optional<bool> logs_rows;     // is_print_compare_log
  std::vector<std::string> unknown;  // keys that the command does not know, which are to be warned of
};

// Reads the file, of whose keys a command knows those in `known`. Throws UserError: for what is no regular file that
// ends in .json or no JSON object, for a value of another type and for a key that is there twice; also where a key
// looks like a slip of one that is not there, as what was to be compared would be taken for something else.
ComparisonFile read_comparison_file(const std::string& path, const std::vector<std::string>& known);

// What is said of a key that is not known.
std::string text_of_unknown_key(std::string_view key);

}  // namespace msrun
