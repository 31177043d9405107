// The table of results: its columns, and its rows as cells of text (dump_compare.md 6).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/io/dump/companions.h"
#include "tools/dump_compare/judge.h"

namespace msrun::dump_compare {

std::vector<std::string> titles(Mode mode, bool with_stack);

enum class CellKind : std::uint8_t { text, number, boolean };

struct ResultRow {
  static constexpr std::size_t most_cells = 40;

  Level level = Level::pass;
  std::uint32_t call = no_place;  // of the target, or else of the golden side
  bool golden_only = false;
  bool compared = false;       // both sides have values
  bool input_apart = false;    // as ComparedRow::input_apart
  std::string metric_message;  // tensor mode: what the metrics say, one text
  std::string problem;         // tensor mode: which file cannot be read, and why
  std::string line;            // append_csv() of the row, where that is asked for (RowOptions::for_csv)

  void add(std::string_view cell, CellKind kind = CellKind::text);
  std::size_t size() const { return count_; }
  std::string_view cell(std::size_t i) const;
  CellKind kind(std::size_t i) const { return kinds_[i]; }

 private:
  std::string text_;
  std::size_t count_ = 0;
  std::array<std::uint32_t, most_cells> ends_{};
  std::array<CellKind, most_cells> kinds_{};
};

// Makes rows of what was compared.
class RowMaker {
 public:
  // stacks may be nullptr. All of them must outlive this. for_csv: how infinities are written.
  RowMaker(const Sides& sides, Mode mode, const ColumnTypes& types, const recordings::Stacks* stacks)
      : sides_(sides), mode_(mode), types_(types), stacks_(stacks) {}

  // first_of_call: the row that shows the stack.
  ResultRow make(const ComparedRow& row, bool first_of_call, bool for_csv) const;

 private:
  void add_description(const ComparedRow& row, ResultRow& result) const;
  void add_differences(const ComparedRow& row, ResultRow& result) const;
  void add_statistics(const ComparedRow& row, bool for_csv, ResultRow& result) const;
  // Text that others chose.
  void add_foreign(std::string_view text, ResultRow& result) const;

  const Sides& sides_;
  const Mode mode_;
  const ColumnTypes& types_;
  const recordings::Stacks* stacks_;
};

// The row as a line of comma-separated values, with its line end.
void append_csv(std::string& out, const ResultRow& row);

}  // namespace msrun::dump_compare
