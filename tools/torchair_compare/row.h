// One row of the report: a pair of tensors, what the comparison found, and how that reads in the columns
// (torchair.md 8 and 9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/compare/metrics/dump_metrics.h"

namespace msrun::torchair {

// One side of a row. A side that could not be read has no dtype.
struct RowSide {
  std::string path;  // with ",inputs,<i>" behind files that hold several tensors
  std::string dtype;
  std::string shape;                   // "[2, 3]"
  std::optional<DumpSummary> summary;  // none for empty and unread tensors
  // Mean and norm of the recorded tensor, in statistics rows whose files tell them.
  std::optional<double> recorded_mean;
  std::optional<double> recorded_norm;
  std::string md5;  // eight hexadecimal digits of a CRC-32, if it was asked for
};

enum class Verdict : std::uint8_t { pass, fail, dropped };

struct Row {
  std::string api_name;
  std::string stack_info = "N/A";
  std::int64_t token = 0;
  // Order inside the operator: 0 for a file as a whole, else inputs before outputs.
  std::uint64_t place = 0;
  RowSide golden;
  RowSide mine;

  bool statistics = false;             // the tensors are the extremes of the recorded ones
  std::optional<DumpMetrics> metrics;  // none if there was something that cannot be compared
  // Column cmp_fail_reason, which is msProbe's: it has this of tensors that are NaN or infinite at the same places,
  // too, although they are compared. Of a dropped row, why it was.
  std::string fail_reason;
  std::string note;  // Err_message of a row that was compared
  Verdict verdict = Verdict::fail;
  // The row passed, but NaN or Inf hides what the two tensors, of which statistics alone are known, hold besides.
  bool unchecked = false;
  bool unread = false;  // a side is no tensor that can be read: nothing was compared, though the row fails
  bool empty = false;   // neither tensor has an element: nothing was compared, though the row passes
  bool itself = false;  // both sides are of the dump to compare: an operator that the golden dump cannot have
};

// Adds a sentence to row.note.
void add_note(Row& row, const std::string& sentence);

std::uint64_t input_place(std::size_t index);
std::uint64_t output_place(std::size_t index);

// A row passes within these limits (torchair.md 8.2): what it has must be at least, or below.
inline constexpr double least_cosine = 0.99;
inline constexpr double relative_error_limit = 0.01;
inline constexpr double statistics_limit = 1.0;  // percent, of the difference of maxima and of minima
// A row that passes is close to the limits below these (torchair.md 9).
inline constexpr double close_cosine = 0.999;
inline constexpr double close_ratio = 0.9;  // of One Thousandth Err Ratio

inline constexpr const char* shapes_differ = "data shape doesn't match.";
inline constexpr const char* int8_differs = "int8 compared with another dtype.";
inline constexpr const char* no_checksum = "checksum not available.";

enum class Columns : std::uint8_t { all, legacy };

// The first line of a report, and that of the file of dropped rows.
std::string report_header(Columns columns);
std::string skipped_header();

// The number of a row is known only when all rows before it are: text is that before it and behind it.
struct RowText {
  std::string documented;  // the columns before token_id, which msProbe's own report lacks; with the comma behind them
  std::string before;
  std::string behind;
};
RowText row_text(const Row& row);
RowText skipped_text(const Row& row);

// The shortest decimal that reads back as value, as Python prints it: "1.0", "1e-05", "inf", "nan".
void append_number(std::string& out, double value);

}  // namespace msrun::torchair
