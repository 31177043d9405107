// The bytes of the two CSV files, row by row (acc_check_pytorch.md 9).
#pragma once

#include <string>

#include "runner/results/result.h"

namespace msrun {

// First bytes of a file: byte order mark and title row.
std::string result_header();
std::string details_header(bool english_titles);

// Appends the row of the result file: four fields if forward or backward is SKIP, else three.
void append_result_row(std::string& out, const ApiResult& result);

// Appends the rows of the details file, forward before backward; none for a result without rows (dropout). precision:
// decimals of double precision cells, 0..20.
void append_details_rows(std::string& out, const ApiResult& result, int precision);

}  // namespace msrun
