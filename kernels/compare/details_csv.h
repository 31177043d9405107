// A details row as CSV text, for those who write such files (precision_metrics.md 8).
#pragma once

#include <string>

#include "kernels/compare/details.h"

namespace msrun {

// "Bench Dtype,DEVICE Dtype,...,Status,Message" and the row's end: what follows the title of the first column.
std::string details_titles(const ColumnSet& columns, bool english);

// Appends what follows the name in a row: "," and cell for each column, and the row's end. Cells of metrics that the
// row does not have are blank.
void append_details_cells(std::string& out, const DetailsRow& row, const ColumnSet& columns, int precision);

}  // namespace msrun
