#include "orchestrator/output/csv_rows.h"

#include "kernels/compare/details_csv.h"
#include "kernels/io/files/csv.h"

namespace msrun {

namespace {

void append_row_name(std::string& out, const std::string& name, const char* direction, std::size_t index) {
  append_csv_field(out, name + direction + std::to_string(index));
}

}  // namespace

std::string result_header() {
  return std::string(byte_order_mark) + "API name,Forward Test Success,Backward Test Success,Message\r\n";
}

std::string details_header(bool english_titles) {
  return std::string(byte_order_mark) + "API Name," + details_titles(english_titles);
}

void append_result_row(std::string& out, const ApiResult& result) {
  append_csv_field(out, result.name);
  out += ',';
  out += status_text(result.forward);
  out += ',';
  out += result.backward ? status_text(*result.backward) : " ";
  if (result.forward == Status::skip || result.backward == Status::skip) {
    out += ',';
    append_csv_field(out, result.message);
  }
  out += csv_row_end;
}

void append_details_rows(std::string& out, const ApiResult& result, int precision) {
  for (std::size_t i = 0; i < result.forward_rows.size(); ++i) {
    append_row_name(out, result.name, ".forward.output.", i);
    append_details_cells(out, result.forward_rows[i], precision);
  }
  for (std::size_t i = 0; i < result.backward_rows.size(); ++i) {
    append_row_name(out, result.name, ".backward.output.", i);
    append_details_cells(out, result.backward_rows[i], precision);
  }
}

}  // namespace msrun
