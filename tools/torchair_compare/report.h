// The rows of one report between their comparison and their files: numbered as they come, kept in a temporary file
// because there may be millions of them, and written in the order of the dumps' time stamps (torchair.md 7.5 and 9).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/base/unique_fd.h"
#include "tools/torchair_compare/row.h"

namespace msrun::torchair {

// A row as text, made by the thread that compared it.
struct RenderedRow {
  RowText text;
  std::int64_t token = 0;
  std::uint64_t timestamp = 0;  // of the dumped file
  std::uint64_t place = 0;      // Row::place
  Verdict verdict = Verdict::fail;
  bool unchecked = false;  // Row::unchecked
  bool unread = false;     // Row::unread
  bool of_both = false;    // elements of one dump were compared with those of the other
};
RenderedRow render(const Row& row, std::uint64_t timestamp);

// Where a row lies, and what its order depends on.
struct RowEntry {
  std::uint64_t timestamp = 0;
  std::uint64_t place = 0;
  std::uint64_t offset = 0;
  std::int64_t token = 0;
  std::uint32_t bytes = 0;
  std::uint32_t documented_bytes = 0;  // of the columns that msProbe's own report lacks
  std::uint32_t graph = 0;
  Verdict verdict = Verdict::fail;
  bool unread = false;  // Row::unread
};

struct ReportTotals {
  std::uint64_t compared = 0;  // passed and failed
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t unread = 0;     // rows that say FAIL in the report because a side cannot be read
  std::uint64_t unchecked = 0;  // of those that passed
  std::uint64_t of_both = 0;    // of those that were compared, RenderedRow::of_both
  std::uint64_t skipped = 0;
};

class Report {
 public:
  // directory must exist; the temporary file lies there and has no name.
  explicit Report(const std::string& directory);
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  // Rows that are added from now on belong to the next graph, and come behind those of the one before.
  void begin_graph() { ++graph_; }
  // In the order of data_id, of which unused_ids values are left out before the rows. Not safe to be called from
  // several threads at once.
  void add(std::uint64_t unused_ids, const std::vector<RenderedRow>& rows);

  // To be called once, after the last add.
  void sort();
  // In the order of the report. Dropped rows are among them.
  const std::vector<RowEntry>& entries() const { return entries_; }
  // A line with its line end.
  std::string text(const RowEntry& entry) const;

  // Writes the report, and beside it the dropped rows if there are any, under names that nothing else has. Returns what
  // they have in common: <directory>/msprobe_cmp_report[_rank<r>]_<UTC time>, with "_1", "_2"... behind if there is
  // such a report already. rank_part is "rank<r>_" or empty. If one cannot be written, neither is left.
  std::string write(const std::string& rank_part, Columns columns) const;
  ReportTotals totals() const { return totals_; }

 private:
  void flush();

  std::string directory_;
  UniqueFd descriptor_;
  std::uint64_t flushed_ = 0;
  std::string pending_;
  std::vector<RowEntry> entries_;
  std::uint32_t graph_ = 0;
  std::uint64_t next_id_ = 0;
  ReportTotals totals_;
};

}  // namespace msrun::torchair
