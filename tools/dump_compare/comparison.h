// Two recordings compared from files to rows (dump_compare.md 2 to 10).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kernels/io/dump/companions.h"
#include "tools/common/memory_budget.h"
#include "tools/dump_compare/table.h"
#include "tools/dump_compare/tensor_files.h"

namespace msrun::dump_compare {

struct MappingFiles {
  bool fuzzy = false;
  std::string data;                  // path of the file; empty: none
  std::optional<std::string> layer;  // empty path: no names that differ
  std::optional<std::string> cell;   // empty path: no names, only Cell for Module
  std::optional<std::string> api;    // empty path: the table
};

// Both sides, read. The target's framework decides how they are compared.
struct Pair {
  Recording target;
  Recording golden;
  std::optional<recordings::Stacks> stacks;  // of the target
  RightFactors factors;
  const std::unique_ptr<MemoryBudget> memory = std::make_unique<MemoryBudget>();  // for the files of tensors
  Mode mode = Mode::statistics;
  bool cross = false;
  bool mindspore = false;

  Sides sides(bool compat) const { return {target, golden, cross, compat}; }
};

// Reads both files side by side. warn is told what was assumed. Throws UserError for what cannot be compared.
std::unique_ptr<Pair> read_pair(const std::string& target, const std::string& golden, bool compat,
                                const std::function<void(const std::string&)>& warn);

// Which rows are compared. Throws UserError for a mapping file that cannot be used and if nothing is left to compare.
// What a layer mapping makes of the names of rows is put into layer_names, as the text of a data mapping file.
std::vector<Row> rows_of_pair(const Pair& pair, const MappingFiles& mapping, bool compat,
                              const std::function<void(const std::string&)>& warn, std::string& layer_names);

struct Counts {
  std::size_t rows = 0;
  std::size_t errors = 0;
  std::size_t warnings = 0;
  std::size_t compared = 0;  // rows with values on both sides
  std::size_t inputs_apart = 0;
  std::string first_input_apart;  // the name of its row
};

struct RowOptions {
  bool compat = false;
  bool for_csv = true;  // how infinities are written
  bool fuzzy = false;   // names of one row may differ
  std::size_t threads = 1;
};

// Compares rows; take gets every call's rows in order.
Counts compare_rows(const Pair& pair, const std::vector<Row>& rows, const RowOptions& options,
                    const std::function<void(ResultRow&&)>& take);

}  // namespace msrun::dump_compare
