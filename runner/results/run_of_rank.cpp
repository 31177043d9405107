#include "runner/results/run_of_rank.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "journal/error.h"
#include "journal/file.h"
#include "journal/reader.h"
#include "kernels/io/files/paths.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

// As deep as recordings are looked for below a folder (docs/ranks.md).
constexpr int most_levels = 8;

bool names_rank(const std::string& journal, const std::string& rank) {
  try {
    const std::string header = journal::read_header(*journal::open_source(journal)).metadata;
    const nlohmann::json metadata = nlohmann::json::parse(header, nullptr, false);
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

std::optional<RunFiles> files_of_rank_csv(const std::string& path) {
  const std::optional<RunFiles> beside = files_of_csv(path);
  if (!beside || path_exists(beside->journal)) return std::nullopt;
  const fs::path of_rank(beside->directory);
  fs::path above = of_rank;
  for (int level = 0; level < most_levels; ++level) {
    above = (above / "..").lexically_normal();
    const RunFiles files =
        run_files(above.has_filename() ? above.string() : above.parent_path().string(), beside->stamp);
    if (!path_exists(files.journal)) continue;
    std::error_code error;
    const fs::path top = fs::absolute(above, error).lexically_normal();
    const fs::path rank = fs::absolute(of_rank, error).lexically_normal().lexically_relative(top);
    std::string name = rank.generic_string();
    while (name.ends_with('/')) name.pop_back();
    if (!error && names_rank(files.journal, name)) return files;
  }
  return std::nullopt;
}

std::optional<RunFiles> files_with_journal(const std::string& path) {
  std::optional<RunFiles> above = files_of_rank_csv(path);
  return above ? above : files_of_run_file(path);
}

}  // namespace msrun
