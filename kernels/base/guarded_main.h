// What the main functions have in common: an error becomes one line on standard error and an exit code.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/processes.h"
#include "kernels/base/search_paths.h"
#include "kernels/base/stack.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"

namespace msrun {

// A failed allocation in a function that must not throw, such as a destructor of the JSON library, gets as far as no
// handler. It ends the process all the same, but with a line that says why and an exit code that is documented.
[[noreturn]] inline void end_by_uncaught() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    constexpr std::string_view text = "not enough memory\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    _exit(exit_internal);
  } catch (...) {
  }
  std::abort();
}

// What the system says of a path is for the user to mend as well.
inline std::string problem_of_path(const std::filesystem::filesystem_error& error) {
  const std::string path = error.path1().string();
  return (path.empty() ? "the working directory" : sanitised(path)) + " cannot be used: " + error.code().message();
}

// What the system has no more of is for the user to give, too. Empty of any other error.
std::string problem_of_resources(const std::system_error& error);

// The exit code of run, or that of what it throws, of standard output that cannot be written, or of stacks that are too
// small to run. Messages begin with program.
template <class Run>
int guarded_main(const char* program, const Run& run) {
  std::set_terminate(end_by_uncaught);
  try {
    search_no_unnamed_folder();
    settle_signals();
    occupy_standard_descriptors();
    prepare_stacks();
    const int code = run();
    finish_standard_output();
    return code;
  } catch (const UserError& error) {
    std::cerr << program << ": " << sanitised(error.what()) << '\n';
    return exit_usage;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << program << ": " << problem_of_path(error) << '\n';
    return exit_usage;
  } catch (const std::bad_alloc&) {
    std::cerr << program << ": not enough memory\n";
    return exit_usage;
  } catch (const std::system_error& error) {
    const std::string problem = problem_of_resources(error);
    std::cerr << program << (problem.empty() ? ": internal error: " : ": ")
              << (problem.empty() ? sanitised(error.what()) : problem) << '\n';
    return problem.empty() ? exit_internal : exit_usage;
  } catch (const std::exception& error) {
    std::cerr << program << ": internal error: " << sanitised(error.what()) << '\n';
    return exit_internal;
  }
}

}  // namespace msrun
