// The cells of one details row: what the comparison of one output computes, before it becomes CSV text.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace msrun {

enum class Status : std::uint8_t { pass, warning, error, skip };

// "pass", "warning", "error", "SKIP".
const char* status_text(Status status);

// One metric with the precision it was computed in, which decides how it is printed (precision_metrics.md 8.1).
struct Cell {
  enum class Kind : std::uint8_t { blank, fp64, fp32, fp16, integer };
  Kind kind = Kind::blank;
  double value = 0;

  static Cell fp64(double v) { return {Kind::fp64, v}; }
  static Cell fp32(double v) { return {Kind::fp32, v}; }
  static Cell fp16(double v) { return {Kind::fp16, v}; }
  static Cell integer(std::int64_t v) { return {Kind::integer, static_cast<double>(v)}; }
  bool operator==(const Cell&) const = default;
};

// The metric columns of the details file, in file order.
enum class Metric : std::uint8_t {
  cosine,
  max_abs_error,
  dual_100,
  dual_1000,
  dual_10000,
  binary_error_rate,
  error_balance,
  rmse,
  small_value_error_ratio,
  max_relative_error,
  mean_relative_error,
  inf_nan_error_rate,
  relative_error_rate,
  absolute_error_rate,
  ulp_max,
  ulp_mean,
  ulp_over_limit,
};
inline constexpr int metric_count = 17;

struct DetailsRow {
  std::string bench_dtype = " ";  // "torch.float64", "<class 'int'>" or one space
  std::string device_dtype = " ";
  std::string shape = " ";  // "(2, 3)" or one space
  std::array<Cell, metric_count> cells{};
  Status status = Status::pass;
  std::string message;
  // A warning or error that is within what rounding does to a right result (rounding.h).
  bool rounding_only = false;

  Cell& operator[](Metric metric) { return cells[static_cast<std::size_t>(metric)]; }
  const Cell& operator[](Metric metric) const { return cells[static_cast<std::size_t>(metric)]; }
};

// Cell text of the CSV files: fp64 fixed with precision decimals, fp32 and fp16 the shortest decimal that round-trips
// in that type, integers plain, blank one space.
std::string cell_text(const Cell& cell, int precision);

// The same text appended to out, for writers of many cells.
void append_cell_text(std::string& out, const Cell& cell, int precision);

// Column title of a metric as the CSV has it: Chinese, or English where english is set.
const char* metric_title(Metric metric, bool english);

}  // namespace msrun
