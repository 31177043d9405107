// The file of -config, config.json or config.yaml: which APIs are checked, where the tensors of failures go, how many
// decimals are written (acc_check_pytorch.md 4). docs/configuration.md has an example of each.
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
  std::string error_data_path;  // may be relative to the working directory; empty: beside the CSVs
  int precision = 14;           // decimals of double precision cells
  std::vector<std::string> quantization_api_list{"npu_rms_norm_dynamic_quant", "npu_dynamic_quant",
                                                 "npu_quant_lightning_indexer"};
  // The config.yaml that nobody named, if it says something; empty: there is none.
  std::string found_yaml;
  // Keys that have no effect; one sentence each.
  std::vector<std::string> notices;

  // Whether the lists let calls of the API run. A name in both lists does not.
  ListVerdict list_verdict(std::string_view api_name) const;
};

// Reads and checks the file; its suffix, .json, .yaml or .yml, tells what it is. A config.json has the lists and the
// place of tensors, and the config.yaml that goes with it the rest (config_yaml_for). Without a path it is the
// config.yaml of an installed msProbe, if there is one, else the defaults. is_supported says whether a bare API
// name exists in Functional, Tensor, Torch or NPU. Throws UserError that names the file and the key.
Config load_config(const std::string& path, const std::function<bool(std::string_view)>& is_supported);

// Reads the text of such a file; name stands in messages and has the suffix. Throws what load_config() throws.
Config parse_config(const std::string& name, std::string_view text,
                    const std::function<bool(std::string_view)>& is_supported);

}  // namespace msrun
