// What is to be reproduced, and how: the file of -i (op_generate_and_code_mapping.md A.2).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kernels/api/api_call.h"

namespace msrun::op_generate {

enum class DataMode : std::uint8_t { random_data, real_data };

struct Configuration {
  std::string dump_path;        // empty: the API has been extracted before
  std::string api;              // "Torch.matmul.0"; of no effect without a dump
  std::string extraction_path;  // the JSON file of the one API, written if there is a dump
  Direction propagation = Direction::forward;
  DataMode data_mode = DataMode::random_data;
  std::optional<std::int64_t> seed;  // unset: that of the framework
  std::int64_t iterations = 1;
};

// Throws UserError in the documented words, for the first key in their order that is wrong. Keys that there are not are
// told to warn.
Configuration read_configuration(const std::string& path, const std::function<void(const std::string&)>& warn);

// The rules of an API's name; throws UserError. The empty name is missing.
void check_api_name(const std::string& name);

// Demands the full name of one call, "Torch.matmul.0": only then can it be part of the name of a file. Throws
// UserError.
void check_call_name(const std::string& name);

// From 1 to 1000, checked when everything else that the user gave is known to be there. Throws UserError.
void check_iterations(std::int64_t iterations, bool mindspore);

Direction direction_of(const std::string& text);  // "forward"; throws UserError
DataMode data_mode_of(const std::string& text);   // "real_data"; throws UserError

const char* direction_text(Direction direction);
const char* data_mode_text(DataMode mode);

}  // namespace msrun::op_generate
