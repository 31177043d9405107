// The names of the files that a run leaves behind: the journal and its two CSVs, which belong together by one time
// stamp.
#pragma once

#include <optional>
#include <string>

namespace msrun {

// The files of one run, all sharing one timestamp.
struct RunFiles {
  std::string directory;  // of the three files; never empty
  std::string stamp;      // YYYYmmddHHMMSS; empty: the names have none, accuracy_checking_result.csv and so on
  std::string result;     // accuracy_checking_result_<stamp>.csv
  std::string details;    // accuracy_checking_details_<stamp>.csv
  std::string journal;    // accuracy_checking_<stamp>.journal
  std::string report;     // accuracy_checking_report_<stamp>.html, of a run that is complete
};

RunFiles run_files(const std::string& directory, const std::string& stamp);

// The files of the run that path, by its name, is the result or the details file of; nothing if it has no such name.
std::optional<RunFiles> files_of_csv(const std::string& path);

// The files of a run by the name of any of the three; nothing if it is not named like one of them.
std::optional<RunFiles> files_of_run_file(const std::string& path);

}  // namespace msrun
