// The code_mapping command.
#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/code_mapping/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("code_mapping", [&] {
    return print_or_run(code_mapping::parse_options(argc, argv),
                        [](const code_mapping::Options& options) { return code_mapping::run(options); });
  });
}
