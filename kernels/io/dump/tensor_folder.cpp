#include "kernels/io/dump/tensor_folder.h"

#include <algorithm>
#include <system_error>

#include "kernels/base/error.h"

namespace msrun {
namespace {

// Both resolved.
bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::ranges::mismatch(path, folder).in2 == folder.end();
}

}  // namespace

std::filesystem::path tensor_folder_of(const std::filesystem::path& recording) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path beside = recording.parent_path() / tensor_folder_name;
  if (fs::exists(beside, ignored)) return beside;
  const fs::path target = fs::canonical(recording, ignored).parent_path() / tensor_folder_name;
  return fs::exists(target, ignored) ? target : beside;
}

std::vector<std::filesystem::path> folders_of_recording(const std::filesystem::path& recording) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<fs::path> folders;
  const fs::path beside = recording.has_parent_path() ? recording.parent_path() : fs::path(".");
  for (const fs::path& folder : {beside, fs::weakly_canonical(recording, ignored).parent_path(),
                                 tensor_folder_of(beside / recording.filename())}) {
    const fs::path resolved = fs::weakly_canonical(folder, ignored);
    if (!resolved.empty() && std::ranges::find(folders, resolved) == folders.end()) folders.push_back(resolved);
  }
  return folders;
}

bool is_of_recording(const std::filesystem::path& file, const std::filesystem::path& recording) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(file, error);
  if (error) return false;
  return std::ranges::any_of(folders_of_recording(recording),
                             [&](const auto& folder) { return is_below(resolved, folder); });
}

void check_outside_tensors(const std::string& option, const std::string& written, const std::string& recording) {
  namespace fs = std::filesystem;
  if (written.empty() || recording.empty()) return;
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(tensor_folder_of(recording), error);
  const fs::path place = fs::weakly_canonical(fs::absolute(written, error).lexically_normal(), error);
  if (error || !fs::is_directory(folder, error) || !is_below(place, folder)) return;
  throw UserError(option + " " + written + " would lie among the tensors of the recording " + recording + ".");
}

}  // namespace msrun
