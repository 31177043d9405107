// The first bytes of the two CSV files; their rows are the dialect's (runner/dialects).
#pragma once

#include <string>

#include "runner/dialects/dialect.h"

namespace msrun {

// Byte order mark and title row.
std::string result_header(const Dialect& dialect);
std::string details_header(const Dialect& dialect, bool english_titles);

}  // namespace msrun
