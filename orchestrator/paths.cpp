#include "orchestrator/paths.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace msrun {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view result_prefix = "accuracy_checking_result_";
constexpr std::string_view details_prefix = "accuracy_checking_details_";
constexpr std::string_view csv_suffix = ".csv";
constexpr std::size_t stamp_length = 14;

std::string base_name(const std::string& path) { return fs::path(path).filename().string(); }

}  // namespace

RunFiles run_files(const std::string& directory, const std::string& stamp) {
  RunFiles files;
  files.directory = directory.empty() ? "." : directory;
  files.stamp = stamp;
  files.result = join_path(files.directory, std::string(result_prefix) + stamp + std::string(csv_suffix));
  files.details = join_path(files.directory, std::string(details_prefix) + stamp + std::string(csv_suffix));
  files.journal = join_path(files.directory, "accuracy_checking_" + stamp + ".journal");
  return files;
}

std::optional<RunFiles> files_of_csv(const std::string& path) {
  const std::string name = base_name(path);
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

RunFiles resumed_run_files(const std::string& csv_path) {
  std::optional<RunFiles> files = files_of_csv(csv_path);
  if (files && !base_name(csv_path).starts_with(result_prefix)) files.reset();
  std::error_code error;
  const bool has_journal = files && fs::exists(files->journal, error);
  if (!has_journal || fs::exists(csv_path, error)) {
    check_input_file(csv_path, {".csv"}, max_csv_bytes, Access::read_write);
  }
  if (!files) {
    throw UserError(csv_path + ": When continue acc_check, please do not modify the result csv name.");
  }
  files->result = csv_path;
  if (!has_journal) check_input_file(files->details, {".csv"}, max_csv_bytes, Access::read_write);
  return *std::move(files);
}

std::string error_data_directory(const std::string& error_data_path, const std::string& stamp) {
  return join_path(error_data_path, "ut_error_data" + stamp);
}

}  // namespace msrun
