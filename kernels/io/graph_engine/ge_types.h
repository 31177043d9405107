// The data types of the graph engine's dumps (torchair.md 5.1).
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/io/stored/stored_tensor.h"

namespace msrun {

inline constexpr std::int32_t ge_undefined = 0;

struct GeType {
  NumpyType type;  // once decoded
  Encoding encoding = Encoding::plain;
};

// Nothing for types that cannot be decoded.
std::optional<GeType> ge_type(std::int32_t code);

}  // namespace msrun
