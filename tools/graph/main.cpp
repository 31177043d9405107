// graph: the tree of a recorded model, and two of them compared, as files for the graph viewers.
#include <iostream>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/graph/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("graph", [&] {
    return print_or_run(graph::parse_options(argc, argv), [](const graph::Options& options) {
      return graph::run(options, std::cout,
                        [](const std::string& text) { std::cerr << "graph: warning: " << sanitised(text) << '\n'; });
    });
  });
}
