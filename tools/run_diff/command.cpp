#include "tools/run_diff/command.h"

#include <iostream>

#include "kernels/base/error.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "kernels/io/files/apart.h"
#include "kernels/io/files/paths.h"
#include "tools/run_diff/report.h"

namespace msrun::run_diff {
namespace {

// Nothing that is written may replace a file of a run, nor another output. csv: the file; empty: there is none.
void check_outputs(const Options& options, const std::string& csv, const runs::Run& a, const runs::Run& b) {
  for (const runs::Run* run : {&a, &b}) {
    runs::check_apart_from_run("--csv", csv, run->files);
    runs::check_apart_from_run("--html", options.html, run->files);
  }
  check_apart("--html", options.html, {{"the file of --csv", csv}});
}

// A run that is compared with itself has nothing new whatever is wrong with it.
void refuse_same_run(const runs::Run& a, const runs::Run& b) {
  const auto file_of = [](const runs::Run& run) { return run.has_journal ? run.files.journal : run.files.result; };
  if (a.has_journal != b.has_journal || a.rank != b.rank || !is_same_file(file_of(a), file_of(b))) return;
  throw UserError("Both runs are the same one, " + sanitised(file_of(a)) +
                  "; of several runs in a folder its name means the newest: name the file of the other.");
}

}  // namespace

int run(const Options& options) {
  const runs::Run a = runs::read_run(options.run_a);
  const runs::Run b = runs::read_run(options.run_b);
  const bool prints_csv = options.csv == "-";
  check_outputs(options, prints_csv ? std::string() : options.csv, a, b);
  refuse_same_run(a, b);
  const Comparison comparison = compare(a, b);
  if (!options.csv.empty() && !prints_csv) {
    AtomicFile file(options.csv);
    file.write(csv_of(comparison, options.all));
    file.commit();
  }
  if (!options.html.empty()) write_html(options.html, a, b, comparison, options.all);
  if (prints_csv) {
    print_text(csv_of(comparison, options.all));
  } else {
    print_text(options.json ? json_of(a, b, comparison, options.all) : text_of(a, b, comparison, options.all));
  }
  // The text has these lines, and the JSON says it in fields; a CSV has no place for them.
  if (prints_csv) std::cerr << reservations(b, comparison);
  if (comparison.count(Change::appeared) > 0 || comparison.compared == 0) return exit_fail_on;
  return b.is_complete() ? exit_completed : exit_incomplete;
}

}  // namespace msrun::run_diff
