#include "kernels/io/files/apart.h"

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
  for (const KeptFile& file : kept) {
    if (file.path.empty() || !is_same_file(written, file.path)) continue;
    throw UserError(option + " " + written + " would overwrite " + file.what + " " + file.path + ".");
  }
}

}  // namespace msrun
