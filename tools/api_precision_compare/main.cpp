// The api_precision_compare command.
#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/api_precision_compare/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("api_precision_compare", [&] {
    return print_or_run(api_precision_compare::parse_options(argc, argv), api_precision_compare::run);
  });
}
