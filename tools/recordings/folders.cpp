#include "tools/recordings/folders.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "kernels/base/digits.h"
#include "kernels/base/error.h"
#include "kernels/base/lower_case.h"
#include "kernels/base/text.h"
#include "kernels/io/files/entries.h"
#include "kernels/io/files/paths.h"

namespace msrun::recordings {
namespace {

constexpr std::uint64_t most_numbers = 1'000'000;
constexpr int most_enclosing = 8;  // folders around a recording; links can make any number of them
constexpr auto process_prefixes = std::to_array<std::string_view>({"proc", "pid"});

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& what, const std::string& path, const std::error_code& error) {
  throw UserError("The " + what + " " + path + " cannot be read: " + error.message() + ".");
}

// The names of those in the folder; none where there is no such folder.
std::vector<std::string> subfolders(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : entries_of(folder, error)) {
    std::error_code unknown;
    if (entry.is_directory(unknown)) names.push_back(entry.path().filename().string());
  }
  const bool is_absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !is_absent) refuse("folder", folder, error);
  return names;
}

std::map<std::uint64_t, std::string> numbered(const std::string& folder, std::string_view prefix) {
  std::map<std::uint64_t, std::string> found;
  std::error_code error;
  for (const std::string& name : subfolders(folder)) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = std::string_view(name).substr(prefix.size());
    if (digits.empty()) {
      found.emplace(0, join_path(folder, name));
      continue;
    }
    const std::optional<std::uint64_t> number = parse_number<std::uint64_t>(digits);
    if (!number || (digits.size() > 1 && digits.front() == '0')) continue;
    found.insert_or_assign(*number, join_path(folder, name));
  }
  if (found.contains(0)) {
    const std::string zero = join_path(folder, std::string(prefix) + "0");
    if (fs::is_directory(zero, error)) found[0] = zero;
  }
  return found;
}

// As dump_file(), but that an error says why it could not be looked for.
std::string find_dump(const std::string& folder, std::error_code& error) {
  error.clear();
  for (const char* name : {"dump.json", "debug.json"}) {
    const std::string path = join_path(folder, name);
    std::error_code unknown;
    const fs::file_status status = fs::status(path, unknown);
    if (fs::is_regular_file(status)) return path;
    if (status.type() == fs::file_type::none) error = unknown;
  }
  return {};
}

bool begins_recording(const std::string& folder) {
  return !rank_folders(folder).empty() || !step_folders(folder).empty() || process_folder(folder) ||
         !dump_file(folder).empty();
}

}  // namespace

std::string recording_folder(const std::string& folder) {
  std::string inner = folder;
  for (int i = 0; i < most_enclosing; ++i) {
    if (begins_recording(inner)) return inner;
    const std::vector<std::string> names = subfolders(inner);
    if (names.size() != 1) break;
    inner = join_path(inner, names.front());
  }
  return folder;
}

std::map<std::uint64_t, std::string> rank_folders(const std::string& folder) { return numbered(folder, "rank"); }

std::vector<std::string> unused_ranks(const std::string& folder) {
  const std::map<std::uint64_t, std::string> ranks = rank_folders(folder);
  const std::string own = dump_file(folder);
  const std::string process = ranks.empty() && own.empty() ? process_folder(folder).value_or("") : "";
  std::vector<std::string> unused;
  if (!ranks.empty() && !own.empty()) unused.push_back(own + " takes no part: there are folders of ranks beside it.");
  std::vector<std::string> names = subfolders(folder);
  std::ranges::sort(names);
  std::error_code ignored;
  for (const std::string& name : names) {
    const std::string path = join_path(folder, name);
    const std::string lower = lower_case(name);
    const bool like_rank = lower.starts_with("rank") || lower.starts_with("proc") || is_process_name(lower);
    const bool taken =
        path == process || std::ranges::any_of(ranks, [&](const auto& rank) { return rank.second == path; });
    if (!like_rank || taken) continue;
    if (name == "rank") {
      unused.push_back(path + " takes no part: there is rank0 beside it.");
    } else if (!find_dump(path, ignored).empty()) {
      unused.push_back(path + " takes no part: ranks are called rank0, rank1 and so on.");
    }
  }
  return unused;
}

std::map<std::uint64_t, std::string> step_folders(const std::string& folder) {
  std::map<std::uint64_t, std::string> steps = numbered(folder, "step");
  std::erase_if(steps, [](const auto& step) { return step.second.ends_with("step"); });
  return steps;
}

bool is_process_name(std::string_view name) {
  return std::ranges::any_of(process_prefixes,
                             [&](std::string_view prefix) { return name == prefix || is_numbered(name, prefix); });
}

std::optional<std::string> process_folder(const std::string& folder) {
  std::vector<std::string> found = subfolders(folder);
  std::erase_if(found, [](const std::string& name) { return !is_process_name(name); });
  if (found.size() != 1) return std::nullopt;
  return join_path(folder, found.front());
}

std::string dump_file(const std::string& folder) {
  std::error_code error;
  std::string path = find_dump(folder, error);
  if (error) refuse("folder", folder, error);
  return path;
}

std::optional<std::set<std::uint64_t>> parse_numbers(std::string_view text) {
  std::set<std::uint64_t> numbers;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const auto first = parse_number<std::uint64_t>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<std::uint64_t>(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= most_numbers) return std::nullopt;
    for (std::uint64_t number = *first; number <= *last; ++number) numbers.insert(number);
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace msrun::recordings
