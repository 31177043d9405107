// What the cells of one row hold before they become text: statistics and their differences (dump_compare.md 3, 6, 7).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tools/dump_compare/rows.h"

namespace msrun::dump_compare {

enum class Mode : std::uint8_t { statistics, tensor, md5 };

using recordings::statistic_count;
using recordings::Value;

// Which of the eight columns of statistics print their integers as real numbers: those that hold nothing but numbers,
// at least one of which is real.
struct ColumnTypes {
  std::array<bool, statistic_count> target{};
  std::array<bool, statistic_count> golden{};
};
ColumnTypes column_types(const Sides& sides, const std::vector<Row>& rows);

// The difference of one statistic: two numbers, or a word that fills both cells.
struct Difference {
  const char* word = nullptr;  // "0", "Nan", "inf", "-inf", "Diff", "N/A"
  double difference = 0;
  double percent = 0;  // of the golden value; infinite where that is zero
};

// One side of a difference: a value as its column types it. nullptr: the side has no row.
struct Cell {
  const recordings::Texts& texts;
  const Value* value;
  bool real;
};
// exact: whole numbers are subtracted with all their digits, which msProbe reads in double precision.
Difference difference_of(const Cell& target, const Cell& golden, bool exact);

// Text of the cell of a statistic; for a file of comma-separated values infinities begin with a blank.
std::string statistic_text(const recordings::Texts& texts, const Value& value, bool as_real, bool for_csv);

}  // namespace msrun::dump_compare
