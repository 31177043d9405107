#include "tools/code_mapping/statistic_table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/io/files/csv.h"
#include "tools/code_mapping/cells.h"

namespace msrun::code_mapping {

namespace {

using Row = std::vector<std::string>;
using Column = std::optional<std::size_t>;

constexpr std::string_view name_title = "Op Name";

Column column_of(const Row& titles, std::string_view title) {
  const auto found = std::ranges::find(titles, title);
  if (found == titles.end()) return std::nullopt;
  return static_cast<std::size_t>(found - titles.begin());
}

bool is_empty_line(const Row& row) { return row.size() == 1 && row[0].empty(); }

// Which columns the result has, and which of them are ours.
struct Layout {
  Row titles;
  std::size_t name = 0;
  Column code_stack;
  Column scope_name;

  std::size_t width() const { return titles.size(); }
};

// widest: cells of the longest row, empty ones at its end not counted.
Layout layout_of(Row titles, std::size_t widest) {
  Layout layout;
  // A byte order mark behind another, or within quotes, would be the file's own once it is written.
  while (titles.front().starts_with(byte_order_mark)) titles.front().erase(0, byte_order_mark.size());
  const Column name = column_of(titles, name_title);
  if (!name) throw UserError("has no column \"" + std::string(name_title) + "\"");
  layout.name = *name;
  layout.code_stack = column_of(titles, code_stack_title);
  layout.scope_name = column_of(titles, scope_name_title);
  const bool is_new = !layout.code_stack && !layout.scope_name;
  if (is_new && !titles.back().empty()) titles.emplace_back();
  while (titles.size() < widest) titles.emplace_back();
  for (std::size_t i = 0; i < titles.size(); ++i) {
    if (titles[i].empty()) titles[i] = "Unnamed: " + std::to_string(i);
  }
  for (const auto& [column, title] :
       {std::pair{&layout.code_stack, code_stack_title}, {&layout.scope_name, scope_name_title}}) {
    if (*column) continue;
    *column = titles.size();
    titles.emplace_back(title);
  }
  layout.titles = std::move(titles);
  return layout;
}

void append_row(std::string& text, const Layout& layout, const Row& row, const std::string& code_stack,
                const std::string& scope_name) {
  for (std::size_t i = 0; i < layout.width(); ++i) {
    if (i > 0) text += ',';
    if (i == *layout.code_stack) {
      text += code_stack;
    } else if (i == *layout.scope_name) {
      text += scope_name;
    } else if (i < row.size()) {
      append_csv_field(text, row[i]);
    }
  }
  text += '\n';
}

// Whether an earlier run has found the row's operator.
bool is_filled(const Layout& layout, const Row& row) {
  return std::ranges::any_of(std::array{*layout.code_stack, *layout.scope_name},
                             [&](std::size_t column) { return column < row.size() && !row[column].empty(); });
}

std::size_t cells_in(const Row& row) {
  std::size_t count = row.size();
  while (count > 0 && row[count - 1].empty()) --count;
  return count;
}

}  // namespace

StatisticTable with_source_lines(std::string_view csv, const Graph& graph, ScopeIndex& index) {
  Row titles;
  Row row;
  std::size_t widest = 0;
  CsvReader first_pass(csv, LastRow::may_lack_line_end);
  while (first_pass.next(row)) {
    if (is_empty_line(row)) continue;
    if (titles.empty()) titles = row;
    widest = std::max(widest, cells_in(row));
  }
  if (first_pass.torn_bytes() > 0) throw UserError("ends within quotes");
  if (titles.empty()) throw UserError("has no line of titles");
  const Layout layout = layout_of(std::move(titles), widest);

  StatisticTable table;
  append_row(table.text, layout, layout.titles, std::string(code_stack_title), std::string(scope_name_title));
  CsvReader reader(csv, LastRow::may_lack_line_end);
  for (bool is_first = true; reader.next(row);) {
    if (is_empty_line(row)) continue;
    if (std::exchange(is_first, false)) continue;
    const Node* node = layout.name < row.size() ? index.find(row[layout.name]) : nullptr;
    ++table.rows;
    table.mapped += node == nullptr ? 0 : 1;
    table.filled += is_filled(layout, row) ? 1 : 0;
    append_row(table.text, layout, row, code_stack_cell(graph, node), scope_name_cell(node));
  }
  return table;
}

}  // namespace msrun::code_mapping
