// The code_mapping command.
#include <csignal>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/code_mapping/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  // A file that may not grow is a failed write like that to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  return guarded_main("code_mapping",
                      [&] { return print_or_run(code_mapping::parse_options(argc, argv), code_mapping::run); });
}
