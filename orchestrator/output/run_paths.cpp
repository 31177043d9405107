#include "orchestrator/output/run_paths.h"

#include <filesystem>
#include <system_error>

namespace msrun {

namespace fs = std::filesystem;

namespace {

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// What another has put in the place of a file must not be taken for it.
void check_csv(const std::string& path) {
  std::error_code error;
  if (fs::is_symlink(path, error)) {
    throw UserError("The " + path + " should be a file, not a symbolic link! Name the file that it points to.");
  }
  check_input_file(path, {".csv"}, max_csv_bytes, Access::read_write);
}

}  // namespace

RunFiles resumed_run_files(const std::string& csv_path) {
  std::optional<RunFiles> files = files_of_run_file(csv_path);
  if (!files) {
    check_input_file(csv_path, {".csv"}, max_csv_bytes, Access::read_write);
    throw UserError(csv_path + ": When continue acc_check, please do not modify the result csv name.");
  }
  if (fs::path(csv_path).filename() == fs::path(files->result).filename()) files->result = csv_path;
  std::error_code error;
  if (!is_there(files->journal)) {
    check_csv(files->result);
    check_csv(files->details);
  } else if (is_there(files->result) && !fs::is_symlink(files->result, error)) {
    check_input_file(files->result, {".csv"}, max_csv_bytes, Access::read_write);
  }
  return *std::move(files);
}

}  // namespace msrun
