// The api_precision_compare command.
#include <csignal>
#include <exception>
#include <iostream>

#include "kernels/error.h"
#include "kernels/exit_code.h"
#include "tools/api_precision_compare/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  // A file that may not grow is a failed write like that to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const auto parsed = api_precision_compare::parse_options(argc, argv);
    if (const auto* text = std::get_if<std::string>(&parsed)) {
      std::cout << *text;
      return exit_completed;
    }
    return api_precision_compare::run(std::get<api_precision_compare::Options>(parsed));
  } catch (const UserError& error) {
    std::cerr << "api_precision_compare: " << error.what() << '\n';
    return exit_usage;
  } catch (const std::exception& error) {
    std::cerr << "api_precision_compare: internal error: " << error.what() << '\n';
    return exit_internal;
  }
}
