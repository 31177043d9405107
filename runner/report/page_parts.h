// The parts of the page that are the same in every report: style, script, and the frame of its sections. They are files
// in page/, which the build puts into the program.
#pragma once

#include <string_view>

namespace msrun::report {

extern const std::string_view style_sheet;
extern const std::string_view body_markup;  // from behind the headline to the facts of the run
extern const std::string_view end_markup;   // behind these
// The script, in this order.
extern const std::string_view page_calls;
extern const std::string_view page_call_card;
extern const std::string_view page_table;
extern const std::string_view page_sections;
extern const std::string_view page_timeline;
extern const std::string_view page_start;

}  // namespace msrun::report
