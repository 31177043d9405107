// The details files that nobody named: as msProbe's documents have it, those in the current folder.
#pragma once

#include <string>
#include <vector>

namespace msrun::api_precision_compare {

struct InputPaths {
  std::string npu;
  std::string gpu;
  std::vector<std::string> notices;  // which files were found; a sentence each
};

// Fills in the paths that are empty. Both files have names alike, so that which is which is told by the journal beside
// a file, by the other file, or by a folder called npu or gpu. Throws UserError where that does not tell.
InputPaths with_found_inputs(const std::string& npu, const std::string& gpu);

}  // namespace msrun::api_precision_compare
