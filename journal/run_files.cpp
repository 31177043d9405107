#include "journal/run_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace msrun {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view result_prefix = "accuracy_checking_result_";
constexpr std::string_view details_prefix = "accuracy_checking_details_";
constexpr std::string_view csv_suffix = ".csv";
constexpr std::size_t stamp_length = 14;

}  // namespace

RunFiles run_files(const std::string& directory, const std::string& stamp) {
  RunFiles files;
  files.directory = directory.empty() ? "." : directory;
  files.stamp = stamp;
  const std::string folder = files.directory + (files.directory.ends_with('/') ? "" : "/");
  files.result = folder + std::string(result_prefix) + stamp + std::string(csv_suffix);
  files.details = folder + std::string(details_prefix) + stamp + std::string(csv_suffix);
  files.journal = folder + "accuracy_checking_" + stamp + ".journal";
  return files;
}

std::optional<RunFiles> files_of_csv(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const std::string_view prefix : {result_prefix, details_prefix}) {
    if (name.size() != prefix.size() + stamp_length + csv_suffix.size()) continue;
    if (!name.starts_with(prefix) || !name.ends_with(csv_suffix)) continue;
    const std::string stamp = name.substr(prefix.size(), stamp_length);
    if (std::all_of(stamp.begin(), stamp.end(), is_digit)) {
      return run_files(fs::path(path).parent_path().string(), stamp);
    }
  }
  return std::nullopt;
}

}  // namespace msrun
