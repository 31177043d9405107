// The command msrun bisect.
#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/run_bisect/bisect.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("run_bisect",
                      [&] { return print_or_run(run_bisect::parse_options(argc, argv), run_bisect::run); });
}
