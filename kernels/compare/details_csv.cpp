#include "kernels/compare/details_csv.h"

#include "kernels/io/files/csv.h"

namespace msrun {

std::string details_titles(bool english) {
  std::string titles = "Bench Dtype,DEVICE Dtype,Shape";
  for (int i = 0; i < metric_count; ++i) {
    titles += ',';
    append_csv_field(titles, metric_title(static_cast<Metric>(i), english));
  }
  return titles + ",Status,Message" + std::string(csv_row_end);
}

void append_details_cells(std::string& out, const DetailsRow& row, int precision) {
  for (const std::string* field : {&row.bench_dtype, &row.device_dtype, &row.shape}) {
    out += ',';
    append_csv_field(out, *field);
  }
  for (const Cell& cell : row.cells) {
    out += ',';
    append_cell_text(out, cell, precision);
  }
  out += ',';
  out += status_text(row.status);
  out += ',';
  append_csv_field(out, row.message);
  out += csv_row_end;
}

}  // namespace msrun
