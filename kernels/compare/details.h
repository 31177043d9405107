// The cells of one details row: what the comparison of one output computes, before it becomes CSV text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compare/bounds/trust.h"
#include "kernels/compare/diagnosis/difference.h"
#include "kernels/compare/metrics/cell.h"
#include "kernels/compare/metrics/columns.h"

namespace msrun {

enum class Status : std::uint8_t { pass, warning, error, skip };

// "pass", "warning", "error", "SKIP".
const char* status_text(Status status);

// How the rules of the judge were answered of a row (runner/judge/rules.h).
struct AskedRules {
  struct Asked {
    std::uint8_t rule = 0;   // its code
    std::uint64_t open = 0;  // elements that it, and those before it, leave open
    double share = 0;        // the largest error, as a share of what they grant
  };
  std::vector<Asked> asked;  // in their order, those that left less open than the one before, and the last
  bool explained = false;    // the last of them covers every element: it has ended the judgement
  std::uint8_t veto = 0;     // the code of the veto that refuses the row all the same; 0: none
};

struct DetailsRow {
  std::string bench_dtype = " ";  // "torch.float64", "<class 'int'>" or one space
  std::string device_dtype = " ";
  std::string shape = " ";  // "(2, 3)" or one space
  // What the cells are of, one for each column. A row that is a status and a message alone has neither.
  const ColumnSet* columns = nullptr;
  std::vector<Cell> cells;
  Status status = Status::pass;
  std::string message;
  // A warning or error that is within what rounding does to a right result (rounding.h).
  bool rounding_only = false;
  // A float output further from the benchmark than rounding leads, whatever its status.
  bool beyond_rounding = false;
  // What agreement is worth in a float output that is not beyond rounding.
  Trust trust;
  // Where and by how much a float output differs that rounding does not explain.
  std::optional<Difference> difference = {};
  // Nothing for a pass that needed no more than a glance, and for a row that is not judged so.
  std::optional<AskedRules> judgement = {};

  DetailsRow() = default;
  // With blank cells.
  explicit DetailsRow(const ColumnSet& set) : columns(&set), cells(set.size()) {}

  // The cell of a metric among the row's columns; std::logic_error if it is not.
  Cell& operator[](Metric metric);
  // A blank cell for a metric that is not among the row's columns.
  const Cell& operator[](Metric metric) const;
};

// Whether the row speaks against the device: nothing explains a warning or an error, or what differs beyond rounding. A
// SKIP row had no values to compare and is suspicious all the same if something else about it is known to be wrong,
// such as the dtype of a result without elements.
bool is_suspicious(const DetailsRow& row);

// Adds a line of its own, without its end, to the Message.
void add_line(DetailsRow& row, std::string_view line);

// Likewise a line that readers of a CSV know a verdict by (message_lines.h): it is never the first, so that no text
// which stands at the beginning is taken for one.
void add_verdict(DetailsRow& row, std::string_view line);

}  // namespace msrun
