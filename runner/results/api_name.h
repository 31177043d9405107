// The API that a call is of, by the names that results have.
#pragma once

#include <string_view>

namespace msrun {

// "Functional.conv2d" of "Functional.conv2d.3"; a part of name.
inline std::string_view api_of(std::string_view name) { return name.substr(0, name.rfind('.')); }

}  // namespace msrun
