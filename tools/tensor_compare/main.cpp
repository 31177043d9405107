// The tensor_compare command.
#include <unistd.h>

#include <exception>
#include <iostream>

#include "kernels/error.h"
#include "kernels/exit_code.h"
#include "tools/tensor_compare/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  try {
    const auto parsed = tensor_compare::parse_options(argc, argv);
    if (const auto* text = std::get_if<tensor_compare::PrintAndExit>(&parsed)) {
      std::cout << text->text;
      return exit_completed;
    }
    const int code = tensor_compare::run(std::get<tensor_compare::Options>(parsed), isatty(STDOUT_FILENO) == 1);
    if (!std::cout.flush()) throw UserError("the output could not be written");
    return code;
  } catch (const UserError& error) {
    std::cerr << "tensor_compare: " << error.what() << '\n';
    return exit_usage;
  } catch (const std::exception& error) {
    std::cerr << "tensor_compare: internal error: " << error.what() << '\n';
    return exit_internal;
  }
}
