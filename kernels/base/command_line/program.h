// What the main functions of all programs have in common behind the reading of their command line.
#pragma once

#include <variant>

#include "kernels/base/command_line/arguments.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/standard_output.h"

namespace msrun {

// Prints the text that was asked for, or runs with the options. Returns the exit code.
template <class Options, class Run>
int print_or_run(const std::variant<Options, PrintAndExit>& parsed, const Run& run) {
  if (const auto* options = std::get_if<Options>(&parsed)) return run(*options);
  print_text(std::get<PrintAndExit>(parsed).text);
  return exit_completed;
}

// What options_from makes of the arguments, or the text to print in its place.
template <class Options, class Make>
std::variant<Options, PrintAndExit> options_or_text(const CommandDescription& command, int argc,
                                                    const char* const* argv, const Make& options_from) {
  std::variant<Arguments, PrintAndExit> parsed = parse_arguments(command, argc, argv);
  if (const auto* arguments = std::get_if<Arguments>(&parsed)) return options_from(*arguments);
  return std::get<PrintAndExit>(std::move(parsed));
}

}  // namespace msrun
