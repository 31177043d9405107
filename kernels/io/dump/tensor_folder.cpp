#include "kernels/io/dump/tensor_folder.h"

#include <system_error>

namespace msrun {

std::filesystem::path tensor_folder_of(const std::filesystem::path& recording) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path beside = recording.parent_path() / tensor_folder_name;
  if (fs::exists(beside, ignored)) return beside;
  const fs::path target = fs::canonical(recording, ignored).parent_path() / tensor_folder_name;
  return fs::exists(target, ignored) ? target : beside;
}

}  // namespace msrun
