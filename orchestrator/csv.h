// The two CSV files of a run: their bytes (acc_check_pytorch.md 9), the pair of files that grows while the run goes on
// and is put in dump order at the end, and the way back from the files of an earlier run to results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/paths.h"
#include "runner/result.h"

namespace msrun {

struct CsvStyle {
  int precision = 14;  // decimals of double precision cells, 0..20
  bool english_titles = false;
};

// First bytes of a file: byte order mark and title row.
std::string result_header();
std::string details_header(bool english_titles);

// The row of the result file: four fields if forward or backward is SKIP, else three.
std::string result_row(const ApiResult& result);

// The rows of the details file, forward before backward; empty for a result without rows (dropout).
std::string details_rows(const ApiResult& result, int precision);

// Appends one field, quoted only if it holds a comma, a quote or a line break.
void append_csv_field(std::string& out, std::string_view field);

// A file of whole rows that only grows. A failed append leaves no part of its bytes behind. Errors are WriteError.
class AppendedFile {
 public:
  enum class Mode : std::uint8_t { create_new, existing };
  AppendedFile(const std::string& path, Mode mode);
  AppendedFile(AppendedFile&& other) noexcept;
  AppendedFile& operator=(AppendedFile&& other) noexcept;
  ~AppendedFile();

  void append(std::string_view bytes);

 private:
  std::string path_;
  int descriptor_ = -1;
};

// Gives the results one after the other, nullptr at the end; a result need not outlive the next call.
using ResultSource = std::function<const ApiResult*()>;

// Replaces both files by these results, each in one step.
void write_csv_files(const RunFiles& files, const CsvStyle& style, const ResultSource& next);

// The growing pair. A call that has a row in the result file has all its rows in the details file.
class CsvFiles {
 public:
  // A fresh run: both files with their header; refuses to overwrite.
  static CsvFiles create(const RunFiles& files, const CsvStyle& style);
  // A run that is continued: appends to what is there.
  static CsvFiles open(const RunFiles& files, const CsvStyle& style);

  // One write to each file, details first.
  void append(std::span<const ApiResult> results);

  // Replaces the contents of both files and goes on appending behind them.
  void rewrite(const ResultSource& next);
  void rewrite(std::span<const ApiResult> results);

 private:
  CsvFiles(const RunFiles& files, const CsvStyle& style, AppendedFile details, AppendedFile result);

  RunFiles files_;
  CsvStyle style_;
  AppendedFile details_;
  AppendedFile result_;
};

// Rows of RFC 4180 text: a byte order mark is skipped, rows end with CRLF or LF, quoted fields may hold both. The last
// row counts only if its line end is there: a killed writer leaves a torn one. bytes must outlive the reader.
class CsvReader {
 public:
  explicit CsvReader(std::string_view bytes);

  // False at the end. row is overwritten.
  bool next(std::vector<std::string>& row);

  // Bytes of a torn last row that were dropped; known once next() has returned false.
  std::size_t torn_bytes() const { return torn_bytes_; }

 private:
  std::string_view rest_;
  std::size_t torn_bytes_ = 0;
};

struct ImportedCsv {
  std::vector<ApiResult> results;  // in the order of the result file; task is 0, device -1, times 0
  std::vector<std::string> notes;  // what was dropped and why, one sentence each
};

// Reads the files of a run that left no journal. Rendering the results again with the same precision gives the same
// bytes. Dropped: torn last rows, details rows of calls without a result row, and earlier rows of a call that has
// several. Throws UserError, naming file and row, for files that are not ours.
ImportedCsv import_csv(const std::string& result_path, const std::string& details_path, int precision);

}  // namespace msrun
