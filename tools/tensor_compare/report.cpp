#include "tools/tensor_compare/report.h"

#include <algorithm>

#include "kernels/base/text.h"
#include "kernels/compare/details_csv.h"
#include "kernels/io/files/csv.h"

namespace msrun::tensor_compare {

namespace {

constexpr std::size_t title_width = 28;

}  // namespace

std::string csv_header(const std::string& first_title, bool english) {
  return first_title + "," + details_titles(pytorch_columns(), english);
}

std::string csv_row(const std::string& name, const DetailsRow& row, int precision) {
  std::string text;
  append_csv_text(text, name);
  append_details_cells(text, row, pytorch_columns(), precision);
  return text;
}

std::string listing_line(const std::string& title, const std::string& text) {
  const std::size_t width = display_width(title);
  return title + std::string(title_width - std::min(width, title_width - 1), ' ') + text + "\n";
}

std::string listing(const DetailsRow& row, bool english, int precision) {
  std::string text;
  for (const Column& column : pytorch_columns().columns()) {
    const Cell& cell = row[column.metric];
    if (cell.kind == Cell::Kind::blank) continue;
    text += listing_line(column.title(english), cell_text(cell, precision));
  }
  text += listing_line("Status", status_text(row.status));
  std::string title = "Message";
  for (std::size_t begin = 0; begin < row.message.size();) {
    const std::size_t end = std::min(row.message.find('\n', begin), row.message.size());
    if (end > begin) {
      text += listing_line(title, row.message.substr(begin, end - begin));
      title.clear();
    }
    begin = end + 1;
  }
  return text;
}

}  // namespace msrun::tensor_compare
