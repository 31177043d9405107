// The run_report command.
#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/run_report/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("run_report", [&] {
    return print_or_run(run_report::parse_options(argc, argv),
                        [](const run_report::Options& options) { return run_report::run(options); });
  });
}
