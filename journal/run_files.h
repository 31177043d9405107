// The names of the files that a run leaves behind: the journal and its two CSVs, which belong together by one time
// stamp and, where several processes check one recording into one folder, by the part that each of them has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace msrun {

// The files of one run, all sharing one timestamp.
struct RunFiles {
  std::string directory;  // of the three files; never empty
  // YYYYmmddHHMMSS, of a part of a recording followed by _<part> (shard_label, node_label); empty: the names have none,
  // accuracy_checking_result.csv and so on.
  std::string stamp;
  std::string result;   // accuracy_checking_result_<stamp>.csv
  std::string details;  // accuracy_checking_details_<stamp>.csv
  std::string journal;  // accuracy_checking_<stamp>.journal
  std::string report;   // accuracy_checking_report_<stamp>.html, of a run that is complete
};

RunFiles run_files(const std::string& directory, const std::string& stamp);

// What the names of the files say of the part of a recording that a process checks: "shard2of8", or "node-" and the
// name of the process where parts are taken one after the other. Bytes of the node's name that are no letter, digit,
// dot or dash become dashes.
std::string shard_label(std::uint32_t number, std::uint32_t of);
std::string node_label(const std::string& node);

// The files of the run that path, by its name, is the result or the details file of; nothing if it has no such name.
std::optional<RunFiles> files_of_csv(const std::string& path);

// The files of a run by the name of any of the three; nothing if it is not named like one of them.
std::optional<RunFiles> files_of_run_file(const std::string& path);

// Whether path is, by its name, the report of a run.
bool is_report_name(const std::string& path);

}  // namespace msrun
