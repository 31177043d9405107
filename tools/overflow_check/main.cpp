// overflow_check: where the first NaN or infinity of a run over several ranks came from.
#include <iostream>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "kernels/base/text.h"
#include "tools/overflow_check/check.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("overflow_check", [&] {
    return print_or_run(overflow_check::parse_options(argc, argv), [](const overflow_check::Options& options) {
      return overflow_check::check(options, std::cout, [](const std::string& text) {
        std::cerr << "overflow_check: warning: " << sanitised(text) << '\n';
      });
    });
  });
}
