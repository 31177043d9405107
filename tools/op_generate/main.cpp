// The op_generate command.
#include <csignal>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/op_generate/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  // A file that may not grow is a failed write like that to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  return guarded_main("op_generate",
                      [&] { return print_or_run(op_generate::parse_options(argc, argv), op_generate::run); });
}
