// A details file of acc_check as api_precision_compare reads it (precision_metrics.md 10.2): columns are found by their
// titles, Chinese or English, and each cell is a number, blank, or something else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compare/details.h"
#include "kernels/io/files/csv.h"

namespace msrun::api_precision_compare {

// What a cell means. msprobe: as upstream's table reader has it, where every empty cell and every word for "no value"
// is NaN. careful: only words for NaN are NaN; empty cells and the other words (NA, null) are blank.
enum class Reading : std::uint8_t { careful, msprobe };

struct InputCell {
  enum class Kind : std::uint8_t { blank, number, other };
  Kind kind = Kind::blank;
  bool is_text = true;  // not NaN, and in a column that holds texts: what upstream's program sees as a str
  double value = 0;     // of a number
};

// column_is_numeric is the type of the whole column, see DetailsFile.
InputCell parse_cell(std::string_view text, bool column_is_numeric, Reading reading);

// Whether upstream's table reader takes this for NaN.
bool is_missing_value(std::string_view text);

// One row: the cells that are compared, and the texts that go with them.
struct OutputRow {
  std::string name;
  std::string dtype;  // of the device's output
  std::string shape;
  std::string status;  // acc_check's verdict; empty if the file has no such column
  std::string message;
  std::array<InputCell, metric_count> cells{};
  // These two are written again as they were read, or in the format of their column.
  std::string binary_error_rate;
  std::string dual_1000;
  std::string damage;  // why the row cannot be used: "it has 3 fields in place of 23"; empty if it can

  const InputCell& operator[](Metric metric) const { return cells[static_cast<std::size_t>(metric)]; }
};

class DetailsFile {
 public:
  // Throws UserError if the file cannot be read, is no CSV, or lacks a required column; tag, "npu_csv" or "gpu_csv",
  // names it in that message.
  DetailsFile(const std::string& path, const std::string& tag, Reading reading);
  // Reads bytes as the contents of the file; messages call them path.
  DetailsFile(const std::string& path, std::string bytes, const std::string& tag, Reading reading);
  DetailsFile(const DetailsFile&) = delete;
  DetailsFile& operator=(const DetailsFile&) = delete;

  // The next row, false at the end. Rows of the wrong length come with their damage, or, read as upstream does, are
  // filled up with NaN; such a reading throws UserError for those that are too long.
  bool next(OutputRow& row);

  std::size_t row_number() const { return row_number_; }  // of the last row, the title row is 1
  const std::string& path() const { return path_; }
  // Rows that the file has about, for those who keep something of each.
  std::size_t expected_rows() const { return bytes_.size() / 256; }
  // Numbers of a column that holds nothing else are written again with so many decimals.
  void write_with(int decimals) { decimals_ = decimals; }
  // Bytes of a last row that ends within quotes.
  std::size_t torn_bytes() const { return reader_.torn_bytes(); }

 private:
  enum Text : std::uint8_t { api_name, device_dtype, shape, status, message, text_count };
  enum class ColumnType : std::uint8_t { integer, real, mixed };
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  void find_columns(const std::vector<std::string>& titles, const std::string& tag);
  void find_types();
  bool next_fields();
  const std::string& field(std::size_t column) const;
  std::string copied(Metric metric) const;
  ColumnType type(Metric metric) const { return types_[static_cast<std::size_t>(metric)]; }

  std::string path_;
  Reading reading_;
  std::string bytes_;
  CsvReader reader_;
  std::vector<std::string> fields_;
  std::size_t columns_ = 0;
  int decimals_ = 14;
  std::size_t row_number_ = 0;
  std::array<std::size_t, text_count> text_columns_;
  std::array<std::size_t, metric_count> metric_columns_;
  std::array<ColumnType, metric_count> types_{};
};

}  // namespace msrun::api_precision_compare
