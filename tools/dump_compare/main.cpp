// dump_compare: two recordings of one model, tensor by tensor, and where they part first.
#include <iostream>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/dump_compare/compare.h"
#include "tools/dump_compare/options.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("dump_compare", [&] {
    return print_or_run(dump_compare::parse_options(argc, argv), [](const dump_compare::Options& options) {
      return dump_compare::compare_dumps(options, std::cout, [](const std::string& text) {
        std::cerr << "dump_compare: warning: " << sanitised(text) << '\n';
      });
    });
  });
}
