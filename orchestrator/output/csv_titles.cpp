#include "orchestrator/output/csv_titles.h"

#include "kernels/compare/details_csv.h"
#include "kernels/io/files/csv.h"

namespace msrun {

std::string result_header(const Dialect& dialect) {
  std::string header(byte_order_mark);
  for (const std::string_view title : dialect.result_titles()) {
    if (header.size() > byte_order_mark.size()) header += ',';
    append_csv_field(header, title);
  }
  return header.append(csv_row_end);
}

std::string details_header(const Dialect& dialect, bool english_titles) {
  return std::string(byte_order_mark) + "API Name," + details_titles(dialect.columns(), english_titles);
}

}  // namespace msrun
