#include "tools/torchair_convert/command_line.h"

#include <algorithm>
#include <array>
#include <thread>

#include "kernels/base/command_line/program.h"

namespace msrun::convert {
namespace {

constexpr double longest_wait = 86400;  // seconds
constexpr int max_workers = 256;

constexpr auto work_options = std::to_array<Option>({
    {"--data_path PATH", "in place of PATH alone", Takes::one_value},
    {"--once", "convert what is there and end; without it the tree is watched until Ctrl-C"},
    {"--stats WHAT", "minmax (default), or full: mean, L2 norm, NaN and infinity counts and a CRC-32 as well",
     Takes::one_value},
    {"--interval SEC", "between two looks at the tree (default 0.5)", Takes::one_value},
    {"--settle SEC", "a file must have been left alone for (default 1)", Takes::one_value},
    {"--workers N", "files to convert at the same time (default: one for each processor)", Takes::one_value},
});

constexpr auto output_options = std::to_array<Option>({
    {"--quiet", "no line per file"},
    {"--verbose", "a warning for every file that is left; without it the first five of a kind and their number"},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "torchair_convert";
  command.summary =
      "torchair_convert shrinks a dump of a compiled graph while it is being written, or afterwards: every tensor file "
      "becomes a small one with the least and the largest value of each tensor, and is then deleted. Also: msrun "
      "convert PATH ...";
  command.usage = {"torchair_convert PATH [OPTIONS]"};
  command.sections = {{"Examples",
                       {{"torchair_convert msprobe_ge_dump", "watch a dump that is being written"},
                        {"torchair_convert msprobe_ge_dump --once --stats full", "all that is there, and end"}}}};
  command.groups = {{"Work", work_options}, {"Output", output_options}};
  command.exit_meanings = {
      {exit_completed, "done, or stopped while watching"},
      {exit_fail_on, "--once: a file could not be converted, or no file of a dump was found"},
      {exit_usage, "wrong options, a directory that cannot be used, or another converter at work on it"},
      {exit_incomplete, "stopped early, or the disk is full: the same command goes on; or the directory was deleted"},
      {exit_internal, "internal error"},
  };
  command.most_operands = 1;
  command.operands = "one directory";
  return command;
}

double seconds(const Arguments& arguments, const char* name, double fallback, double least) {
  if (!arguments.given(name)) return fallback;
  const std::optional<double> value = parse_number<double>(arguments.text(name));
  if (value && *value >= least && *value <= longest_wait) return *value;
  throw arguments.wrong(name, arguments.text(name),
                        "must be a number of seconds from " + short_number(least) + " to " +
                            std::to_string(static_cast<int>(longest_wait)));
}

std::string data_path(const Arguments& arguments) {
  const std::string named = arguments.text("data_path");
  if (arguments.operands().empty()) {
    if (named.empty()) throw UserError("The directory of the dump is missing: torchair_convert PATH.");
    return named;
  }
  if (!named.empty()) throw UserError("PATH and --data_path exclude each other");
  return arguments.operands().front();
}

Options options_from(const Arguments& arguments) {
  Options options;
  options.data_path = data_path(arguments);
  const std::string statistics = arguments.text("stats", "minmax");
  if (statistics != "minmax" && statistics != "full") {
    throw arguments.wrong("stats", statistics, "must be minmax or full");
  }
  options.statistics = statistics == "full" ? Statistics::full : Statistics::minmax;
  options.once = arguments.given("once");
  options.quiet = arguments.given("quiet");
  options.verbose = arguments.given("verbose");
  options.interval = seconds(arguments, "interval", options.interval, 0.01);
  options.settle = seconds(arguments, "settle", options.settle, 0);
  const int processors = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, max_workers);
  options.workers = arguments.number("workers", processors, 1, max_workers);
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_command_line(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::convert
