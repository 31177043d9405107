// One row of the report: a pair of tensors, what the comparison found, and how that reads in the columns
// (torchair.md 8 and 9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/compare/dump_metrics.h"

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
  std::string fail_reason;             // of column cmp_fail_reason, or why the row was dropped
  std::string note;                    // Err_message of a row that has no fail_reason
  Verdict verdict = Verdict::fail;
};

inline constexpr std::uint64_t whole_file = 0;
std::uint64_t input_place(std::size_t index);
std::uint64_t output_place(std::size_t index);

inline constexpr const char* shapes_differ = "data shape doesn't match.";
inline constexpr const char* int8_differs = "int8 compared with another dtype.";

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
