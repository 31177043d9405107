#include "tools/run_report/command.h"

#include <string_view>
#include <utility>

#include "journal/error.h"
#include "journal/file.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/results_on_stdout.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "runner/report/report.h"
#include "tools/runs/run.h"

namespace msrun::run_report {
namespace {

std::string file_beside(const RunFiles& files, bool share) {
  constexpr std::string_view ending = ".html";
  if (!share) return files.report;
  return files.report.substr(0, files.report.size() - ending.size()) + "_share" + std::string(ending);
}

std::string page_of_journal(const runs::FoundRun& found, const report::ReportStyle& style) {
  try {
    return report::report_page(*journal::open_source(found.files.journal), found.files.stamp, style, found.rank);
  } catch (const journal::Error& error) {
    throw UserError(error.what());
  }
}

std::string page_of_csvs(const std::string& path, const report::ReportStyle& style) {
  runs::Run run = runs::read_run(path);
  report::Sources sources{{std::string(base_name(run.files.result))}, std::move(run.notes), run.judges_rounding};
  if (run.has_details) {
    sources.files.emplace_back(base_name(run.files.details));
  } else {
    sources.notes.emplace_back("There is no details file that can be read, and so no outputs and no metrics.");
  }
  return report::report_page(report::records_of_results(std::move(run.results), std::move(sources)), run.files.stamp,
                             style);
}

}  // namespace

int run(const Options& options) {
  const runs::FoundRun found = runs::find_run(options.run);
  const RunFiles& files = found.files;
  const bool prints = options.out_path == "-";
  const std::string path = options.out_path.empty() ? file_beside(files, options.share) : options.out_path;
  if (!prints) runs::check_apart_from_run("-o", path, files, runs::RunReport::is_made_again);
  const std::string page =
      runs::has_journal(files) ? page_of_journal(found, {options.share}) : page_of_csvs(options.run, {options.share});
  if (prints) {
    print_text(page);
    return exit_completed;
  }
  check_path_text(path);
  AtomicFile file = options.out_path.empty() ? AtomicFile(OwnName{path}) : AtomicFile(path);
  file.write(page);
  file.commit();
  print_beside_files("run_report", path + "\n");
  return exit_completed;
}

}  // namespace msrun::run_report
