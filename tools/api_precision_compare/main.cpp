// The api_precision_compare command.
#include <csignal>
#include <iostream>

#include "kernels/base/guarded_main.h"
#include "tools/api_precision_compare/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  // A file that may not grow is a failed write like that to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  return guarded_main("api_precision_compare", [&]() -> int {
    const auto parsed = api_precision_compare::parse_options(argc, argv);
    if (const auto* text = std::get_if<std::string>(&parsed)) {
      std::cout << *text;
      return exit_completed;
    }
    return api_precision_compare::run(std::get<api_precision_compare::Options>(parsed));
  });
}
