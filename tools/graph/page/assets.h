// The parts of the page that are the same for every graph. They are files of the folder assets/, which the build puts
// into the program.
#pragma once

#include <string_view>

namespace msrun::graph {

extern const std::string_view page_body;
extern const std::string_view page_style;
// The script, in this order.
extern const std::string_view page_model;
extern const std::string_view page_tree;
extern const std::string_view page_panel;
extern const std::string_view page_lists;
extern const std::string_view page_controls;
extern const std::string_view page_map;
extern const std::string_view page_start;

}  // namespace msrun::graph
