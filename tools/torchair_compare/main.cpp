// torchair_compare: the dump of a compiled graph against that of the same model in eager mode.
#include <unistd.h>

#include <iostream>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/torchair_compare/compare.h"
#include "tools/torchair_compare/options.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("torchair_compare", [&] {
    return print_or_run(torchair::parse_options(argc, argv), [](const torchair::Options& options) {
      torchair::Messages messages(isatty(STDERR_FILENO) == 1, options.details,
                                  [](const std::string& text) { std::cerr << text << std::flush; });
      return torchair::compare_dumps(options, messages, std::cout);
    });
  });
}
