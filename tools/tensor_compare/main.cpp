// The tensor_compare command.
#include <unistd.h>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/tensor_compare/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("tensor_compare", [&] {
    return print_or_run(tensor_compare::parse_options(argc, argv), [](const tensor_compare::Options& options) {
      return tensor_compare::run(options, isatty(STDOUT_FILENO) == 1);
    });
  });
}
