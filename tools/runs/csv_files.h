// The two CSV files of a run without a journal: those of the Python tool, or of a run whose journal is lost.
#pragma once

#include <string>
#include <vector>

#include "runner/results/result.h"

namespace msrun::runs {

struct CsvRun {
  std::vector<ApiResult> results;  // in the order of the result file, task counting from 0; no device, no times
  std::vector<std::string> notes;  // one sentence each
  // Whether the files tell warnings and errors that rounding explains from others. The Python tool does not ask.
  bool judges_rounding = false;
  bool has_details = false;  // the details file is there, with columns that are known
};

// Rows of the details file are left out if there is no such file or its titles are of no known set of columns. A last
// row that was torn when its writer was killed is dropped, with a note. Throws UserError that names file and row.
CsvRun read_csv_run(const std::string& result_path, const std::string& details_path);

}  // namespace msrun::runs
