// The folders of a recording: steps that hold ranks that hold dump.json (dump_compare.md 11).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace msrun::recordings {

// Where a folder is there and cannot be searched, all of these throw UserError with the cause.

// number -> path. "rank" alone counts as rank 0; where it stands beside "rank0", the numbered one is taken.
std::map<std::uint64_t, std::string> rank_folders(const std::string& folder);
// What looks like the recording of a rank and is none of rank_folders(), nor what stands for a folder without ranks:
// each with the reason, "DIR/rank01 takes no part: ranks are called rank0, rank1 and so on."
std::vector<std::string> unused_ranks(const std::string& folder);
std::map<std::uint64_t, std::string> step_folders(const std::string& folder);
// Whether a recorder calls the folder of a process without a rank so: "proc4711" or "pid4711".
bool is_process_name(std::string_view name);
// Where a recording begins: the folder, or the one folder in it, and so on, if what encloses it holds nothing of a
// recording: "run" that holds config.json and "dump". The folder itself where no recording is found so.
std::string recording_folder(const std::string& folder);
// The one folder of a process in a dump without ranks.
std::optional<std::string> process_folder(const std::string& folder);

// dump.json of a folder, else its debug.json; empty if it has neither.
std::string dump_file(const std::string& folder);

// Numbers of "0,2" or "0-3"; nothing for any other text, or for more than a million numbers.
std::optional<std::set<std::uint64_t>> parse_numbers(std::string_view text);

}  // namespace msrun::recordings
