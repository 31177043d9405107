#include "runner/results/run_of_rank.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "journal/error.h"
#include "journal/file.h"
#include "journal/reader.h"
#include "kernels/base/digits.h"
#include "kernels/base/json_text.h"
#include "kernels/io/files/paths.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

// As deep as recordings are looked for below a folder (docs/ranks.md).
constexpr int most_levels = 8;

bool names_rank(const std::string& journal, const std::string& rank) {
  try {
    const std::string header = journal::read_header(*journal::open_source(journal)).metadata;
    const nlohmann::json metadata = parsed_json<nlohmann::json>(header);
    if (!metadata.is_object()) return false;
    const auto recordings = metadata.find("recordings");
    if (recordings == metadata.end() || !recordings->is_array()) return false;
    for (const nlohmann::json& recording : *recordings) {
      if (recording.is_object() && recording.value("rank", nlohmann::json()) == rank) return true;
    }
  } catch (const journal::Error&) {
    // Nothing can be told from it.
  }
  return false;
}

}  // namespace

std::optional<RunOfRank> run_of_rank_csv(const std::string& path) {
  std::optional<RunFiles> beside = files_of_csv(path);
  if (!beside || path_exists(beside->journal)) return std::nullopt;
  const fs::path of_rank(beside->directory);
  fs::path above = of_rank;
  for (int level = 0; level < most_levels; ++level) {
    above = (above / "..").lexically_normal();
    RunFiles files = run_files(above.has_filename() ? above.string() : above.parent_path().string(), beside->stamp);
    if (!path_exists(files.journal)) continue;
    std::error_code error;
    const fs::path top = fs::absolute(above, error).lexically_normal();
    const fs::path rank = fs::absolute(of_rank, error).lexically_normal().lexically_relative(top);
    std::string name = rank.generic_string();
    while (name.ends_with('/')) name.pop_back();
    if (!error && names_rank(files.journal, name)) return RunOfRank{std::move(files), *std::move(beside), name};
  }
  return std::nullopt;
}

std::optional<RunFiles> run_of_device_csv(const std::string& path) {
  const std::optional<RunFiles> beside = files_of_csv(path);
  if (!beside || path_exists(beside->journal)) return std::nullopt;
  std::error_code error;
  fs::path folder = fs::absolute(beside->directory, error).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (error || !is_numbered(folder.filename().string(), "device")) return std::nullopt;
  const fs::path above = (fs::path(beside->directory) / "..").lexically_normal();
  RunFiles files = run_files(above.has_filename() ? above.string() : above.parent_path().string(), beside->stamp);
  if (!path_exists(files.journal)) return std::nullopt;
  return files;
}

std::optional<RunFiles> files_with_journal(const std::string& path) {
  std::optional<RunOfRank> above = run_of_rank_csv(path);
  if (above) return std::move(above->whole);
  std::optional<RunFiles> of_all_devices = run_of_device_csv(path);
  return of_all_devices ? std::move(of_all_devices) : files_of_run_file(path);
}

RunHeader header_of_rank(RunHeader whole, const std::string& rank) {
  const auto recordings = whole.find("recordings");
  if (recordings == whole.end() || !recordings->is_array()) return whole;
  RunHeader own;
  for (const RunHeader& recording : *recordings) {
    if (recording.is_object() && recording.value("rank", RunHeader()) == rank) own = recording;
  }
  whole.erase("recordings");
  if (own.contains("api_info")) whole["api_info"] = own["api_info"];
  const auto print = whole.find("fingerprint");
  if (print == whole.end() || !print->is_object()) return whole;
  for (const char* key : {"dump", "across_ranks"}) print->erase(key);
  if (own.contains("dump")) (*print)["recording"] = own["dump"];
  if (own.contains("calls")) (*print)["calls"] = own["calls"];
  return whole;
}

StoredResults results_of_rank(const StoredResults& whole, const RankCalls& calls) {
  StoredResults results(calls.size());
  std::uint32_t place = 0;
  calls.for_each([&](std::uint32_t task, const std::string* name) {
    const std::uint32_t own = place++;
    if (task >= whole.tasks() || !whole.has(task)) return;
    ApiResult result = whole.get(task);
    result.name = name != nullptr ? *name : std::string(without_rank(result.name));
    result.task = own;
    results.put(result);
  });
  return results;
}

}  // namespace msrun
