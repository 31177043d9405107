// Which dump.json a call is taken from where a folder is named, as the pre-check takes one: of one recording, or of
// those of several ranks.
#pragma once

#include <string>

namespace msrun {

struct RecordedCall {
  std::string recording;  // the file
  std::string rank;       // of the call, as it was named; empty if none was
  std::string name;       // of the call in that file
};

// path: a file, which is taken as it is, or a folder. name: "Torch.matmul.0", or with one of several ranks in front
// "step0/rank3:Torch.matmul.0". Throws UserError where the folder has no recording, not that of the rank, or several
// among which the name does not choose.
RecordedCall find_recorded_call(const std::string& path, const std::string& name);

}  // namespace msrun
