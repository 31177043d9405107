// The files of a static graph's dump: tensors, one .npy file each, or tables of statistics.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace msrun::code_mapping {

inline constexpr int deepest_folder = 10;  // below the one that was given

struct DumpFiles {
  std::vector<std::string> tensors;     // absolute, free of links, sorted
  std::vector<std::string> statistics;  // files named statistic.csv, sorted; none are looked for if there are tensors
  bool is_whole = true;                 // no directory that could not be read
};

// A single file or all files below a directory; links to directories are not followed. What cannot be searched is told
// to warn, one sentence each. Throws UserError if there is nothing of that path.
DumpFiles find_dump_files(const std::string& path, const std::function<void(const std::string&)>& warn);

}  // namespace msrun::code_mapping
