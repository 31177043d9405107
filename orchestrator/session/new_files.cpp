#include "orchestrator/session/new_files.h"

#include <ctime>
#include <filesystem>
#include <system_error>

#include "kernels/io/files/paths.h"

namespace msrun {

std::string fresh_stamp(const std::function<bool(const std::string& stamp)>& is_free) {
  for (std::time_t now = std::time(nullptr);; ++now) {
    std::string stamp = timestamp(now);
    if (is_free(stamp)) return stamp;
  }
}

RunFiles fresh_run_files(const std::string& directory) {
  return run_files(directory, fresh_stamp([&](const std::string& stamp) {
                     const RunFiles files = run_files(directory, stamp);
                     std::error_code ignored;
                     return !std::filesystem::exists(files.result, ignored) &&
                            !std::filesystem::exists(files.details, ignored) &&
                            !std::filesystem::exists(files.journal, ignored);
                   }));
}

NewFile::~NewFile() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

}  // namespace msrun
