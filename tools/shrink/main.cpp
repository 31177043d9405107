// The shrink command.
#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/shrink/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("shrink", [&] { return print_or_run(shrink::parse_options(argc, argv), shrink::run); });
}
