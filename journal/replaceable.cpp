#include "journal/replaceable.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "journal/format.h"
#include "journal/run_files.h"
#include "kernels/base/error.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

bool is_journal(const fs::path& path) {
  std::string begin(journal::magic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == journal::magic;
}

constexpr const char* report_text = "the report";

// What the file of a run or the recording of that name is; nullptr if it is none.
const char* kept_by_name(const fs::path& path) {
  if (path.filename() == "dump.json") return "the recording";
  if (is_report_name(path.string())) return report_text;
  const std::optional<RunFiles> files = files_of_run_file(path.string());
  if (!files) return nullptr;
  const std::string name = path.filename().string();
  if (name == fs::path(files->journal).filename()) return "the journal";
  return name == fs::path(files->details).filename() ? "the details file" : "the result file";
}

}  // namespace

void require_replaceable(const std::string& option, const std::string& written, const std::string& own_report) {
  std::error_code error;
  if (written.empty() || !fs::is_regular_file(written, error)) return;
  const fs::path target = fs::canonical(written, error);
  if (error) return;
  const char* what = is_journal(target) ? "the journal" : kept_by_name(target);
  if (what == nullptr) what = kept_by_name(written);
  if (what == nullptr) return;
  if (what == report_text && !own_report.empty() && fs::equivalent(written, own_report, error)) return;
  throw UserError(option + " " + written + " would overwrite " + what + " " + target.string() + ".");
}

}  // namespace msrun
