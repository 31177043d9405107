// The folders of a recording: steps that hold ranks that hold dump.json (dump_compare.md 11).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace msrun::recordings {

// number -> path. "rank" alone counts as rank 0; where it stands beside "rank0", the numbered one is taken.
std::map<std::uint64_t, std::string> rank_folders(const std::string& folder);
// The path of a "rank" that is not taken for that reason; nothing if there is none.
std::optional<std::string> unused_rank_folder(const std::string& folder);
std::map<std::uint64_t, std::string> step_folders(const std::string& folder);
// The one folder "proc<digits>" of a dump without ranks.
std::optional<std::string> process_folder(const std::string& folder);

// dump.json of a folder, else its debug.json; empty if it has neither.
std::string dump_file(const std::string& folder);

// Numbers of "0,2" or "0-3"; nothing for any other text, or for more than a million numbers.
std::optional<std::set<std::uint64_t>> parse_numbers(std::string_view text);

}  // namespace msrun::recordings
