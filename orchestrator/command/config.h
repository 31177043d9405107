// config.json of -config: which APIs are checked and where the tensors of failures go (acc_check_pytorch.md 4).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "kernels/base/error.h"

namespace msrun {

enum class ListVerdict : std::uint8_t { run, in_black_list, not_in_white_list };

struct Config {
  // Bare API names ("conv2d", "linalg.norm"), of whatever type.
  std::unordered_set<std::string> white_list;  // empty: all
  std::unordered_set<std::string> black_list;
  std::string error_data_path = "./";  // relative to the working directory
  int precision = 14;                  // decimals of double precision cells
  std::vector<std::string> quantization_api_list{"npu_rms_norm_dynamic_quant", "npu_dynamic_quant",
                                                 "npu_quant_lightning_indexer"};
  // Keys that look as if they were meant for acc_check but are not used; one sentence each.
  std::vector<std::string> notices;

  // Whether the lists let calls of the API run. A name in both lists does not.
  ListVerdict list_verdict(std::string_view api_name) const;
};

// Reads and checks config.json. is_supported says whether a bare API name exists in Functional, Tensor, Torch or NPU.
// Throws UserError that names the file and the key.
Config load_config(const std::string& path, const std::function<bool(std::string_view)>& is_supported);

// The same for the text of a file; name stands in messages.
Config parse_config(const std::string& name, std::string_view text,
                    const std::function<bool(std::string_view)>& is_supported);

}  // namespace msrun
