// The parse command.
#include <unistd.h>

#include <iostream>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/parse/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("parse", [&] {
    return print_or_run(parse::parse_options(argc, argv), [](const parse::Options& options) {
      const int code = parse::run(options, isatty(STDOUT_FILENO) == 1);
      if (!std::cout.flush()) throw UserError("the output could not be written");
      return code;
    });
  });
}
