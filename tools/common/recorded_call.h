// Which dump.json a call is taken from where a folder is named, as the pre-check takes one: of one recording, or of
// those of several ranks.
#pragma once

#include <string>
#include <vector>

namespace msrun {

struct RecordedCall {
  std::string recording;  // the file
  std::string rank;       // of the call, its whole name; empty if none was named
  std::string name;       // of the call in that file
};

// The one of ranks ("step0/rank3") that is meant by its whole name or by some folders in it, "rank3". Throws UserError
// that names them, and where they are, if it is none or several.
std::string chosen_rank(const std::string& named, const std::vector<std::string>& ranks, const std::string& where);

// path: a file, which is taken as it is, or a folder. name: "Torch.matmul.0", or with one of several ranks in front
// "step0/rank3:Torch.matmul.0", "rank3:Torch.matmul.0". Throws UserError where the folder has no recording, not that of
// the rank, or several among which the name does not choose.
RecordedCall find_recorded_call(const std::string& path, const std::string& name);

}  // namespace msrun
