#include "kernels/compare/details_csv.h"

#include "kernels/io/files/csv.h"

namespace msrun {

std::string details_titles(const ColumnSet& columns, bool english) {
  std::string titles;
  for (const char* title : columns.dtype_and_shape_titles()) (titles += title) += ',';
  for (const Column& column : columns.columns()) {
    append_csv_field(titles, column.title(english));
    titles += ',';
  }
  return titles + "Status,Message" + std::string(csv_row_end);
}

void append_details_cells(std::string& out, const DetailsRow& row, const ColumnSet& columns, int precision) {
  for (const std::string* field : {&row.bench_dtype, &row.device_dtype, &row.shape}) {
    out += ',';
    append_csv_field(out, *field);
  }
  for (const Column& column : columns.columns()) {
    out += ',';
    columns.write(out, row[column.metric], precision);
  }
  out += ',';
  out += status_text(row.status);
  out += ',';
  append_csv_text(out, row.message);
  out += csv_row_end;
}

}  // namespace msrun
