// The parse command.
#include <unistd.h>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/parse/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("parse", [&] {
    return print_or_run(parse::parse_options(argc, argv),
                        [](const parse::Options& options) { return parse::run(options, isatty(STDOUT_FILENO) == 1); });
  });
}
