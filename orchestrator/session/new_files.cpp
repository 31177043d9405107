#include "orchestrator/session/new_files.h"

#include <ctime>
#include <filesystem>
#include <system_error>

#include "kernels/io/files/paths.h"

namespace msrun {

namespace {

bool is_taken(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

}  // namespace

std::string fresh_stamp(const std::function<bool(const std::string& stamp)>& claim) {
  for (std::time_t now = std::time(nullptr);; ++now) {
    std::string stamp = timestamp(now);
    if (claim(stamp)) return stamp;
  }
}

RunFiles fresh_run_files(const std::string& directory, const std::function<bool(const RunFiles& files)>& claim,
                         const std::string& part) {
  const auto files_at = [&](const std::string& stamp) {
    return run_files(directory, part.empty() ? stamp : stamp + "_" + part);
  };
  return files_at(fresh_stamp([&](const std::string& stamp) {
    const RunFiles files = files_at(stamp);
    return !is_taken(files.result) && !is_taken(files.details) && claim(files);
  }));
}

void NewFile::remove() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
  path_.clear();
}

}  // namespace msrun
