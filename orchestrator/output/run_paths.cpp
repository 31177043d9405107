#include "orchestrator/output/run_paths.h"

#include <filesystem>
#include <system_error>

namespace msrun {

namespace fs = std::filesystem;

RunFiles resumed_run_files(const std::string& csv_path) {
  std::optional<RunFiles> files = files_of_csv(csv_path);
  if (files && fs::path(csv_path).filename() != fs::path(files->result).filename()) files.reset();
  std::error_code error;
  const bool has_journal = files && fs::exists(files->journal, error);
  if (!has_journal || fs::exists(csv_path, error)) {
    check_input_file(csv_path, {".csv"}, max_csv_bytes, Access::read_write);
  }
  if (!files) {
    throw UserError(csv_path + ": When continue acc_check, please do not modify the result csv name.");
  }
  files->result = csv_path;
  if (!has_journal) check_input_file(files->details, {".csv"}, max_csv_bytes, Access::read_write);
  return *std::move(files);
}

}  // namespace msrun
