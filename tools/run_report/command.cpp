#include "tools/run_report/command.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "journal/error.h"
#include "journal/file.h"
#include "journal/run_files.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "runner/report/report.h"
#include "runner/results/run_of_rank.h"

namespace msrun::run_report {
namespace {

namespace fs = std::filesystem;

// The newest run of a folder: the names have the time in them.
RunFiles newest_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> journals;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (path.ends_with(".journal") && files_of_run_file(path)) journals.push_back(path);
  }
  if (error) throw UserError("The folder " + sanitised(folder) + " cannot be read: " + error.message() + ".");
  if (journals.empty()) throw UserError("The folder " + sanitised(folder) + " holds no journal of a run.");
  return *files_of_run_file(*std::ranges::max_element(journals));
}

RunFiles files_of(const std::string& run) {
  check_path_text(run);
  std::error_code error;
  if (fs::is_directory(run, error)) return newest_in(run);
  if (!fs::exists(run, error)) throw UserError(run + " does not exist.");
  std::optional<RunFiles> files = files_with_journal(run);
  if (!files) {
    throw UserError(run + " is not named like the journal or a CSV of a run, so that its journal cannot be found.");
  }
  if (!fs::exists(files->journal, error)) {
    throw UserError(run + " has no journal beside it, from which alone a report is made: " + files->journal +
                    " does not exist.");
  }
  return *std::move(files);
}

std::string file_beside(const RunFiles& files, bool share) {
  constexpr std::string_view ending = ".html";
  if (!share) return files.report;
  return files.report.substr(0, files.report.size() - ending.size()) + "_share" + std::string(ending);
}

}  // namespace

int run(const Options& options) {
  const RunFiles files = files_of(options.run);
  std::string page;
  try {
    page = report::report_page(*journal::open_source(files.journal), files.stamp, {options.share});
  } catch (const journal::Error& error) {
    throw UserError(error.what());
  }
  if (options.out_path == "-") {
    print_text(page);
    return exit_completed;
  }
  const std::string path = options.out_path.empty() ? file_beside(files, options.share) : options.out_path;
  check_path_text(path);
  AtomicFile file(path);
  file.write(page);
  file.commit();
  print_text(path + "\n");
  return exit_completed;
}

}  // namespace msrun::run_report
