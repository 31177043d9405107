// The columns that are added to a table of statistics (op_generate_and_code_mapping.md B.5).
#pragma once

#include <string>
#include <string_view>

#include "tools/code_mapping/scope_index.h"

namespace msrun::code_mapping {

struct StatisticTable {
  std::string text;
  std::size_t rows = 0;    // below the titles
  std::size_t mapped = 0;  // rows whose operator is in the graph
  std::size_t filled = 0;  // rows in which the given table names source lines or a scope already
};

// The table with "Code Stack" and "Scope Name": in their columns if it has them, else behind a column "Unnamed: <its
// index>", which stands for the comma with which rows may end, whether or not they do. All other cells keep their text;
// lines end with a line feed, and empty lines are left out. Throws UserError with a sentence that does not name the
// file: without a column "Op Name", and for a table that ends within quotes.
StatisticTable with_source_lines(std::string_view csv, const Graph& graph, ScopeIndex& index);

}  // namespace msrun::code_mapping
