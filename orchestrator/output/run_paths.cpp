#include "orchestrator/output/run_paths.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "kernels/base/text.h"
#include "kernels/io/files/file.h"
#include "runner/results/newest_run.h"
#include "runner/results/run_of_rank.h"

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

// The folder in place of a file of the run: names the file of the newest run in it, and where that is one part of a
// run, that there are others.
void refuse_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return;
  const auto run_of = [](const std::string& file) {
    std::optional<RunFiles> files = files_with_journal(file);
    return files && (is_there(files->journal) || is_there(files->result)) ? files : std::nullopt;
  };
  const std::optional<RunFiles> newest = newest_run(path, run_of, error);
  if (!newest) return;
  throw UserError("-csv_path: " + sanitised(path) + " is a folder; its newest run" +
                  (is_of_part(*newest) ? ", of a part of the recording," : "") + " is continued with -csv_path " +
                  shell_quoted(sanitised(is_there(newest->journal) ? newest->journal : newest->result)));
}

}  // namespace

RunFiles resumed_run_files(const std::string& csv_path) {
  refuse_folder(csv_path);
  std::optional<RunFiles> files = files_with_journal(csv_path);
  if (!files) {
    check_input_file(csv_path, {".csv"}, max_csv_bytes, Access::read_write);
    throw UserError(csv_path + ": When continue acc_check, please do not modify the result csv name.");
  }
  const bool is_of_rank = files->result != files_of_run_file(csv_path)->result;
  if (!is_of_rank && fs::path(csv_path).filename() == fs::path(files->result).filename()) files->result = csv_path;
  std::error_code error;
  if (!is_there(files->journal)) {
    check_csv(files->result);
    // Without it some runs can be continued, which who reads them knows.
    if (is_there(files->details)) check_csv(files->details);
    return *std::move(files);
  }
  // They are written anew, links included, and however large they have become.
  for (const std::string& path : {files->result, files->details}) {
    if (is_there(path) && !fs::is_symlink(path, error)) {
      check_input_file(path, {".csv"}, any_size, Access::read_write);
    }
  }
  return *std::move(files);
}

}  // namespace msrun
