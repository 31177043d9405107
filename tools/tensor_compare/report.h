// Rows of a comparison as text: the details file's CSV, or one line per column for a reader at a terminal.
#pragma once

#include <string>

#include "kernels/compare/details.h"

namespace msrun::tensor_compare {

// The title row of the details file with another first column.
std::string csv_header(const std::string& first_title, bool english);
std::string csv_row(const std::string& name, const DetailsRow& row, int precision);

// Only columns that were filled, then status and message.
std::string listing(const DetailsRow& row, bool english, int precision);

// "title      text", titles padded to one width on a terminal.
std::string listing_line(const std::string& title, const std::string& text);

}  // namespace msrun::tensor_compare
