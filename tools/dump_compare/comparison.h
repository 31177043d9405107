// Two recordings compared from files to rows (dump_compare.md 2 to 10).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tools/dump_compare/table.h"
#include "tools/recordings/companions.h"

namespace msrun::dump_compare {

struct MappingFiles {
  bool fuzzy = false;
  std::string data;  // path of the file; empty: none
  std::string layer;
  std::optional<std::string> cell;  // empty path: no names, only Cell for Module
  std::optional<std::string> api;   // empty path: the table
};

// Both sides, read. The target's framework decides how they are compared.
struct Pair {
  Recording target;
  Recording golden;
  std::optional<recordings::Stacks> stacks;  // of the target
  Mode mode = Mode::statistics;
  bool cross = false;
  bool mindspore = false;

  Sides sides(bool compat) const { return {target, golden, cross, compat}; }
};

// Reads both files side by side. warn is told what was assumed. Throws UserError for what cannot be compared.
std::unique_ptr<Pair> read_pair(const std::string& target, const std::string& golden, bool compat,
                                const std::function<void(const std::string&)>& warn);

// Which rows are compared. Throws UserError for a mapping file that cannot be used and if nothing is left to compare.
std::vector<Row> rows_of_pair(const Pair& pair, const MappingFiles& mapping, bool compat,
                              const std::function<void(const std::string&)>& warn);

struct Counts {
  std::size_t rows = 0;
  std::size_t errors = 0;
  std::size_t warnings = 0;
  std::size_t compared = 0;  // rows with values on both sides
};

// Compares rows on `threads` threads; take gets every call's rows in order. for_csv: how infinities are written.
Counts compare_rows(const Pair& pair, const std::vector<Row>& rows, bool compat, bool for_csv, std::size_t threads,
                    const std::function<void(ResultRow&&)>& take);

// Path of the file of a tensor; empty if the recording names none. A name that leads elsewhere is no file's.
std::string tensor_path(const Recording& side, const Leaf& leaf);

}  // namespace msrun::dump_compare
