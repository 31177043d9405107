#include "kernels/base/own_programs.h"

#include <filesystem>
#include <system_error>

namespace msrun {

std::string own_program(std::string_view name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path beside = folder / name;
  for (const fs::path& path :
       {beside, folder.parent_path() / "lib" / "msrun" / name, folder.parent_path().parent_path() / "bin" / name}) {
    if (fs::is_regular_file(path, error)) return path.string();
  }
  return beside.string();
}

}  // namespace msrun
