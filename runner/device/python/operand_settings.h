// What the settings of a framework let a device do: to the float32 operands of products and convolutions, and to the
// sums of products of half types.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/device/device.h"

namespace msrun {

// kind is that of the device ("cuda"), the settings are those of its worker's hello. Settings that are not there let it
// do nothing. On a GPU operands may be cut as well as rounded to TF32; the wider of the two is returned.
OperandSettings operands_by_settings(std::string_view kind,
                                     const std::vector<std::pair<std::string, std::string>>& settings);

// In which half types the parts of a product may be stored. Settings that are not there let the device do nothing.
StoredParts stored_parts_by_settings(std::string_view kind,
                                     const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace msrun
