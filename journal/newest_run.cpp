#include "journal/newest_run.h"

#include <filesystem>
#include <string_view>
#include <utility>

namespace msrun {
namespace {

namespace fs = std::filesystem;

constexpr char before_part = '_';  // in a stamp

std::string_view time_of(const RunFiles& files) {
  return std::string_view(files.stamp).substr(0, files.stamp.find(before_part));
}

fs::file_time_type last_write(const RunFiles& files) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(files.journal, error);
  return error ? fs::last_write_time(files.result, error) : time;
}

// Where not even the last write differs the whole run goes before its parts, so that the order in which a folder lists
// its files never decides.
bool is_newer(const RunFiles& files, const RunFiles& other) {
  if (time_of(files) != time_of(other)) return time_of(files) > time_of(other);
  const fs::file_time_type time = last_write(files);
  const fs::file_time_type other_time = last_write(other);
  return time != other_time ? time > other_time : files.stamp < other.stamp;
}

}  // namespace

std::optional<RunFiles> newest_run(const std::string& folder, const RunOfFile& run_of, std::error_code& error) {
  std::optional<RunFiles> newest;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::optional<RunFiles> files = run_of(entry->path().string());
    if (files && (!newest || is_newer(*files, *newest))) newest = std::move(files);
  }
  return newest;
}

bool is_of_part(const RunFiles& files) { return files.stamp.find(before_part) != std::string::npos; }

}  // namespace msrun
