#include "kernels/compare/details.h"

#include <stdexcept>
#include <string>

namespace msrun {

const char* status_text(Status status) {
  switch (status) {
    case Status::pass:
      return "pass";
    case Status::warning:
      return "warning";
    case Status::error:
      return "error";
    case Status::skip:
      break;
  }
  return "SKIP";
}

bool is_suspicious(const DetailsRow& row) {
  const bool is_bad = row.status == Status::warning || row.status == Status::error;
  return row.beyond_rounding || (is_bad && !row.rounding_only);
}

void add_line(DetailsRow& row, std::string_view line) {
  if (!row.message.empty() && !row.message.ends_with('\n')) row.message += '\n';
  row.message += line;
  row.message += '\n';
}

void add_verdict(DetailsRow& row, std::string_view line) {
  if (row.message.empty()) row.message += '\n';
  add_line(row, line);
}

Cell& DetailsRow::operator[](Metric metric) {
  if (columns == nullptr || !columns->has(metric)) {
    throw std::logic_error(std::string("a details row has no column for ") + metric_title(metric, true));
  }
  return cells[columns->place(metric)];
}

const Cell& DetailsRow::operator[](Metric metric) const {
  static constexpr Cell blank;
  return columns == nullptr || !columns->has(metric) ? blank : cells[columns->place(metric)];
}

}  // namespace msrun
