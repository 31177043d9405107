// The tensor_compare command.
#include <unistd.h>

#include <iostream>

#include "kernels/base/guarded_main.h"
#include "tools/tensor_compare/command.h"

int main(int argc, char** argv) {
  using namespace msrun;
  return guarded_main("tensor_compare", [&]() -> int {
    const auto parsed = tensor_compare::parse_options(argc, argv);
    if (const auto* text = std::get_if<tensor_compare::PrintAndExit>(&parsed)) {
      std::cout << text->text;
      return exit_completed;
    }
    const int code = tensor_compare::run(std::get<tensor_compare::Options>(parsed), isatty(STDOUT_FILENO) == 1);
    if (!std::cout.flush()) throw UserError("the output could not be written");
    return code;
  });
}
