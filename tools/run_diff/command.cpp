#include "tools/run_diff/command.h"

#include "kernels/base/standard_output.h"
#include "kernels/io/files/paths.h"
#include "tools/run_diff/report.h"

namespace msrun::run_diff {

int run(const Options& options) {
  const runs::Run a = runs::read_run(options.run_a);
  const runs::Run b = runs::read_run(options.run_b);
  const Comparison comparison = compare(a, b);
  const bool prints_csv = options.csv == "-";
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
  return comparison.count(Change::appeared) > 0 ? exit_fail_on : exit_completed;
}

}  // namespace msrun::run_diff
