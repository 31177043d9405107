// The op_generate command.
#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/op_generate/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("op_generate", [&] {
    return print_or_run(op_generate::parse_options(argc, argv),
                        [](const op_generate::Options& options) { return op_generate::run(options); });
  });
}
