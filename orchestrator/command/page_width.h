// Columns of what --list-standards and --list-faults print.
#pragma once

#include <cstddef>

namespace msrun {

inline constexpr std::size_t page_width = 110;

}  // namespace msrun
