// The files of a run: their names, and which of them belong together.
#pragma once

#include <optional>
#include <string>

#include "kernels/io/paths.h"

namespace msrun {

// The files of one run, all sharing one timestamp.
struct RunFiles {
  std::string directory;  // of the three files; never empty
  std::string stamp;      // YYYYmmddHHMMSS
  std::string result;     // accuracy_checking_result_<stamp>.csv
  std::string details;    // accuracy_checking_details_<stamp>.csv
  std::string journal;    // accuracy_checking_<stamp>.journal
};

RunFiles run_files(const std::string& directory, const std::string& stamp);

// The files of the run that path, by its name, is the result or the details file of; nothing if it has no such name.
std::optional<RunFiles> files_of_csv(const std::string& path);

// The files that -csv_path continues: the result file must have its original name and, if it is there, be readable and
// writable. Without a journal to render them from, both CSVs must be there.
RunFiles resumed_run_files(const std::string& csv_path);

// Directory of -save_error_data: <error_data_path>/ut_error_data<stamp>.
std::string error_data_directory(const std::string& error_data_path, const std::string& stamp);

}  // namespace msrun
