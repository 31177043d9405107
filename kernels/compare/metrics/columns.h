// The columns of a details file as data: one set for each framework whose check has a file of its own. Rows refer to
// the set that their cells belong to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace msrun {

// What is measured of a pair of outputs. The order is that of PyTorch's file, which has them all.
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

struct Cell;

// A column of numbers.
struct Column {
  Metric metric;
  const char* chinese;  // its title, and the English one
  const char* english;

  const char* title(bool in_english) const { return in_english ? english : chinese; }
};

class ColumnSet {
 public:
  // How a set writes a cell: appends its text to out; precision is the number of decimals where that is up to the user.
  using CellWriter = void (*)(std::string& out, const Cell& cell, int precision);

  // The columns must outlive the set. id is not 0.
  constexpr ColumnSet(std::uint8_t id, const std::array<const char*, 3>& dtype_and_shape_titles,
                      std::span<const Column> columns, CellWriter writer)
      : id_(id), dtype_and_shape_titles_(dtype_and_shape_titles), columns_(columns), write_(writer) {
    places_.fill(absent);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      places_[static_cast<std::size_t>(columns[i].metric)] = static_cast<std::uint8_t>(i);
    }
  }

  // Stands for the set in the records of a journal, so that it may never stand for another one.
  std::uint8_t id() const { return id_; }
  // Titles of the columns in front: the benchmark's dtype, the device's, and the shape.
  std::span<const char* const> dtype_and_shape_titles() const { return dtype_and_shape_titles_; }
  std::span<const Column> columns() const { return columns_; }
  std::size_t size() const { return columns_.size(); }

  bool has(Metric metric) const { return places_[static_cast<std::size_t>(metric)] != absent; }
  // The place of a metric's cell in a row. The set must have the metric.
  std::size_t place(Metric metric) const { return places_[static_cast<std::size_t>(metric)]; }

  void write(std::string& out, const Cell& cell, int precision) const { write_(out, cell, precision); }

 private:
  static constexpr std::uint8_t absent = 0xFF;

  std::uint8_t id_;
  std::array<const char*, 3> dtype_and_shape_titles_;
  std::span<const Column> columns_;
  CellWriter write_;
  std::array<std::uint8_t, metric_count> places_{};
};

// The columns of acc_check for PyTorch (precision_metrics.md 8).
const ColumnSet& pytorch_columns();

// The name of a metric for people: its title in PyTorch's file.
const char* metric_title(Metric metric, bool english);

}  // namespace msrun
