// The parts of the HTML report that are the same for every report.
#pragma once

#include <string_view>

namespace msrun::torchair {

extern const std::string_view html_style;
extern const std::string_view html_script;

}  // namespace msrun::torchair
