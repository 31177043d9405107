// What a recording says about the device that made it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/io/json/json_tree.h"

namespace msrun {

struct RecordingOrigin {
  std::string device;  // "npu", "cuda" or "cpu"; empty: not known
  // Settings of the framework there, by the names that a worker gives them: "matmul.allow_hf32" and "false".
  std::vector<std::pair<std::string, std::string>> settings;
  bool operator==(const RecordingOrigin&) const = default;
};

// Of the member "msrun" of a header, which msProbe's recordings lack: its "device" ("npu:0" is an npu) and "settings".
// Anything that it does not know is as if it were not there.
RecordingOrigin read_origin(const JsonNode& node);

}  // namespace msrun
