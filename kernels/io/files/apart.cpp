#include "kernels/io/files/apart.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "kernels/base/error.h"

namespace msrun {

bool is_same_file(const std::string& one, const std::string& other) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::equivalent(one, other, error)) return true;
  const auto place = [&error](const std::string& path) {
    const fs::path absolute = fs::absolute(path, error);
    return error ? fs::path() : fs::weakly_canonical(absolute.lexically_normal(), error);
  };
  const fs::path first = place(one);
  return !error && first == place(other) && !error;
}

void check_apart(const std::string& option, const std::string& written, std::initializer_list<KeptFile> kept) {
  if (written.empty()) return;
  const auto* const file = std::ranges::find_if(
      kept, [&](const KeptFile& other) { return !other.path.empty() && is_same_file(written, other.path); });
  if (file == kept.end()) return;
  throw UserError(option + " " + written + " would overwrite " + file->what + " " + file->path + ".");
}

}  // namespace msrun
