// What the main functions have in common: an error becomes one line on standard error and an exit code.
#pragma once

#include <exception>
#include <iostream>

#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/stack.h"
#include "kernels/base/text.h"

namespace msrun {

// The exit code of run, or that of what it throws, or of stacks that are too small to run. Messages begin with program.
template <class Run>
int guarded_main(const char* program, const Run& run) {
  try {
    prepare_stacks();
    return run();
  } catch (const UserError& error) {
    std::cerr << program << ": " << sanitised(error.what()) << '\n';
    return exit_usage;
  } catch (const std::exception& error) {
    std::cerr << program << ": internal error: " << sanitised(error.what()) << '\n';
    return exit_internal;
  }
}

}  // namespace msrun
