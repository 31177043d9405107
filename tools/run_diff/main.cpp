// The command msrun diff.
#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/run_diff/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("run_diff", [&] { return print_or_run(run_diff::parse_options(argc, argv), run_diff::run); });
}
