// Foreign text inside a page: as markup, and as data for its scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace msrun::html {

// Text that a browser shows as it is, visible (kernels/base/text.h), between tags and in attributes in double quotes.
std::string escaped(std::string_view text);

// JSON for the inside of a script element, with texts as the page is to show them, visible: none ends the element or a
// line of a script. Bytes that are not UTF-8 become U+FFFD.
std::string script_json(const nlohmann::json& data);

}  // namespace msrun::html
