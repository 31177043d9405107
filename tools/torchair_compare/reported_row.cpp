#include "tools/torchair_compare/reported_row.h"

#include <cmath>
#include <cstdlib>

#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"
#include "tools/torchair_compare/row.h"

namespace msrun::torchair {
namespace {

void append(std::string& text, const std::string& part) {
  if (!text.empty() && !part.empty()) text += "; ";
  text += part;
}

// What a row of statistics says of its maxima or minima: extreme is "max" or "min", error the title of the difference
// in percent.
std::string why_extreme(const RowCells& row, const std::string& extreme, const char* error) {
  const std::string& mine = row[("my_" + extreme + "_value").c_str()];
  const std::string& golden = row[("golden_" + extreme + "_value").c_str()];
  const std::optional<double> percent = row.number(error);
  if (percent ? *percent < statistics_limit : mine == golden) return "";
  // The values are those of msProbe, in which what is beyond float32 is infinite.
  const std::string values = mine == golden ? extreme + " differs by " + row[extreme == "max" ? "Max diff" : "Min diff"]
                                            : extreme + " " + mine + " against " + golden;
  if (!percent) return values + ": must be equal";
  return values + ", " + row[error] + ": must be below " + short_number(statistics_limit) + "%";
}

std::string why_failed(const RowCells& row) {
  if (row["NPU MD5"] != row["BENCH MD5"]) {
    return "checksums " + row["NPU MD5"] + " against " + row["BENCH MD5"] + ": must be equal";
  }
  std::string text;
  if (row["Cosine"] == "N/A") {
    // Statistics have no cosine. What cannot be compared has a message that says so.
    const bool compared = row["cmp_fail_reason"].empty() || row["Err_message"] != row["cmp_fail_reason"];
    if (!compared || row["my_max_value"].empty()) return "";
    append(text, why_extreme(row, "max", "MaxRelativeErr"));
    append(text, why_extreme(row, "min", "MinRelativeErr"));
    return text;
  }
  const double cosine = row.number("Cosine").value_or(NAN);
  if (!(cosine >= least_cosine)) {
    append(text, "Cosine " + row["Cosine"] + ": must be at least " + short_number(least_cosine));
  }
  const double error = row.number("MaxRelativeErr").value_or(NAN);
  if (!(error < relative_error_limit)) {
    append(text, "MaxRelativeErr " + row["MaxRelativeErr"] + ": must be below " + short_number(relative_error_limit));
  }
  return text;
}

std::string why_close(const RowCells& row) {
  std::string text;
  if (row.number("Cosine").value_or(1) < close_cosine) {
    append(text, "Cosine " + row["Cosine"] + ": below " + short_number(close_cosine));
  }
  if (row.number("One Thousandth Err Ratio").value_or(1) < close_ratio) {
    append(text,
           "One Thousandth Err Ratio " + row["One Thousandth Err Ratio"] + ": below " + short_number(close_ratio));
  }
  return text;
}

}  // namespace

RowCells::RowCells() {
  const std::string header = report_header(Columns::all);
  CsvReader(header).next(titles_);
  for (std::size_t i = 0; i < titles_.size(); ++i) places_.emplace(titles_[i], i);
}

void RowCells::read(const std::string& line) {
  cells_.clear();
  CsvReader(line).next(cells_);
  cells_.resize(titles_.size());
}

std::optional<double> RowCells::number(const char* title) const {
  const std::string& text = (*this)[title];
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || std::isnan(value)) return std::nullopt;
  return value;
}

std::string why(const RowCells& row) {
  std::string text = row["Result"] == "FAIL" ? why_failed(row) : why_close(row);
  append(text, row["Err_message"]);
  return text;
}

}  // namespace msrun::torchair
