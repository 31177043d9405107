// A number of a details file, and how such files write it.
#pragma once

#include <cstdint>
#include <string>

namespace msrun {

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

// Cell text of PyTorch's CSV files: fp64 fixed with precision decimals, fp32 and fp16 the shortest decimal that
// round-trips in that type, integers plain, blank one space.
std::string cell_text(const Cell& cell, int precision);

// Appends that text to out, for writers of many cells.
void append_cell_text(std::string& out, const Cell& cell, int precision);

// Appends a float64 as Python's repr() has it, the shortest decimal that round-trips: "0.001", "1e-05", "nan".
void append_python_number(std::string& out, double value);

// Appends cell text of MindSpore's CSV files: that form of the value, nothing for a blank cell. precision counts not.
void append_python_cell(std::string& out, const Cell& cell, int precision);

}  // namespace msrun
