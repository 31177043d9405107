#include "journal/run_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "kernels/base/digits.h"

namespace msrun {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view result_prefix = "accuracy_checking_result";
constexpr std::string_view details_prefix = "accuracy_checking_details";
constexpr std::string_view csv_suffix = ".csv";
constexpr std::string_view report_prefix = "accuracy_checking_report";
constexpr std::string_view report_suffix = ".html";
constexpr std::string_view journal_prefix = "accuracy_checking";
constexpr std::string_view journal_suffix = ".journal";
constexpr std::size_t stamp_length = 14;
constexpr std::string_view shard_prefix = "shard";
constexpr std::string_view node_prefix = "node-";

bool is_label_char(char c) { return is_alphanumeric(c) || c == '-' || c == '.'; }

// Digits, a part of the recording behind them.
bool is_stamp(std::string_view text) {
  if (text.size() < stamp_length || !std::ranges::all_of(text.substr(0, stamp_length), is_digit)) return false;
  text.remove_prefix(stamp_length);
  if (text.empty()) return true;
  if (!text.starts_with('_')) return false;
  text.remove_prefix(1);
  return (text.starts_with(shard_prefix) || text.starts_with(node_prefix)) && std::ranges::all_of(text, is_label_char);
}

// The stamp of a name between its prefix and its suffix, which may be missing; nothing if it has no such form.
std::optional<std::string> stamp_of(const std::string& name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  if (name.size() == prefix.size() + suffix.size()) return std::string();
  if (name.size() < prefix.size() + 1 + stamp_length + suffix.size() || name[prefix.size()] != '_') {
    return std::nullopt;
  }
  std::string stamp = name.substr(prefix.size() + 1, name.size() - prefix.size() - 1 - suffix.size());
  if (!is_stamp(stamp)) return std::nullopt;
  return stamp;
}

}  // namespace

RunFiles run_files(const std::string& directory, const std::string& stamp) {
  RunFiles files;
  files.directory = directory.empty() ? "." : directory;
  files.stamp = stamp;
  const std::string folder = files.directory + (files.directory.ends_with('/') ? "" : "/");
  const auto path = [&](std::string_view prefix, std::string_view suffix) {
    return folder + std::string(prefix) + (stamp.empty() ? "" : "_" + stamp) + std::string(suffix);
  };
  files.result = path(result_prefix, csv_suffix);
  files.details = path(details_prefix, csv_suffix);
  files.journal = path(journal_prefix, journal_suffix);
  files.report = path(report_prefix, report_suffix);
  return files;
}

std::string shard_label(std::uint32_t number, std::uint32_t of) {
  return std::string(shard_prefix) + std::to_string(number) + "of" + std::to_string(of);
}

std::string node_label(const std::string& node) {
  std::string label(node_prefix);
  for (const char c : node) label += is_label_char(c) ? c : '-';
  return label;
}

bool is_report_name(const std::string& path) {
  return stamp_of(fs::path(path).filename().string(), report_prefix, report_suffix).has_value();
}

std::optional<RunFiles> files_of_csv(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  for (const std::string_view prefix : {result_prefix, details_prefix}) {
    if (const auto stamp = stamp_of(name, prefix, csv_suffix)) {
      return run_files(fs::path(path).parent_path().string(), *stamp);
    }
  }
  return std::nullopt;
}

std::optional<RunFiles> files_of_run_file(const std::string& path) {
  const auto stamp = stamp_of(fs::path(path).filename().string(), journal_prefix, journal_suffix);
  return stamp ? run_files(fs::path(path).parent_path().string(), *stamp) : files_of_csv(path);
}

}  // namespace msrun
