// The two CSV files of a run: the pair that grows while the run goes on and is put in dump order at the end, and the
// way back from the files of an earlier run to results.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/io/files/csv.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"
#include "orchestrator/output/run_paths.h"
#include "orchestrator/output/set_aside.h"
#include "runner/dialects/dialect.h"
#include "runner/results/result.h"

namespace msrun {

// Calls that the files name otherwise than the program does: by their names here.
using ShownNames = std::unordered_map<std::string, std::string>;

struct CsvStyle {
  int precision = 14;  // decimals of double precision cells, 0..20
  bool english_titles = false;
  bool with_reasons = true;  // in the result file, why a call is a warning or an error
  const Dialect* dialect = &pytorch_dialect();
  // Beside the pair of a run over several devices each has one of its own.
  bool pair_per_device = true;
  // Null: none. Must outlive the style.
  const ShownNames* names = nullptr;
};

// Gives the results one after the other, nullptr at the end; a result need not outlive the next call.
using ResultSource = std::function<const ApiResult*()>;

// Appends the rows of a result to those of both files.
void append_rows(const ApiResult& result, const CsvStyle& style, std::string& details, std::string& result_rows);

// Replaces both files, which are in the folder, by these results, each in one step. Is told the rows before that, and
// given the chance to keep the files that were there: aside, if there is one.
void write_csv_files(const Folder& folder, const RunFiles& files, const CsvStyle& style, const ResultSource& next,
                     SetAside* aside = nullptr);

// Tells it the rows of a result that is not to be written: nothing is lost with them.
void forgo_rows(SetAside& aside, const ApiResult& result, const CsvStyle& style);

// The growing pair. A call that has a row in the result file has all its rows in the details file.
class CsvFiles {
 public:
  // A fresh run: both files with their header; refuses to overwrite.
  static CsvFiles create(const Folder& folder, const RunFiles& files, const CsvStyle& style);
  // A run that is continued: appends to what is there.
  static CsvFiles open(const Folder& folder, const RunFiles& files, const CsvStyle& style);

  // Some rows at a time, to the details file first.
  void append(const ResultSource& next);

 private:
  CsvFiles(const CsvStyle& style, AppendedFile details, AppendedFile result);

  CsvStyle style_;
  AppendedFile details_;
  AppendedFile result_;
};

struct ImportedCsv {
  std::vector<ApiResult> results;  // in the order of the result file; task is 0, device -1, times 0
  std::vector<std::string> notes;  // what was dropped or is missing, and why, one sentence each
};

// Reads the files of a run that left no journal. Rendering the results again in the same style gives the same bytes.
// Dropped: torn last rows, details rows of calls without a result row, and earlier rows of a call that has several.
// Throws UserError, naming file and row, for files that are not ours.
ImportedCsv import_csv(const std::string& result_path, const std::string& details_path, const CsvStyle& style);

}  // namespace msrun
