// What the settings of a framework let a device do to the float32 operands of products and convolutions.
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

}  // namespace msrun
