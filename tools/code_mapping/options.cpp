#include "tools/code_mapping/options.h"

#include <array>

#include "kernels/base/command_line/program.h"

namespace msrun::code_mapping {

namespace {

constexpr auto file_options = std::to_array<Option>({
    {"--ir FILE", "the graph's text, such as 18_validate.ir or anf_after_graph_build.ir", Takes::one_value},
    {"--dump_data PATH", "a .npy file, a statistic.csv, or a directory with such files in it, ten levels deep",
     Takes::one_value},
    {"--output DIR", "directory of code_mapping_<time>.csv (default ./); without effect on statistics",
     Takes::one_value},
});

constexpr auto message_options = std::to_array<Option>({
    {"--verbose", "all warnings, not the first five of each kind alone"},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "code_mapping";
  command.summary =
      "code_mapping names the Python source lines behind the operators of a compiled static graph (MindSpore, jit "
      "level "
      "O0 to O2) that a dump recorded. Of tensor files it writes a table, into statistic.csv files two columns.";
  command.usage = {"code_mapping --ir FILE --dump_data PATH [--output DIR]"};
  command.sections = {
      {"Examples",
       {{"code_mapping --ir 18_validate.ir --dump_data dump/rank_0 --output out", "of tensor files"},
        {"msrun code_mapping --ir 18_validate.ir --dump_data statistic.csv", "adds two columns to that file"}}}};
  command.groups = {{"Files", file_options}, {"Messages", message_options}};
  command.note = "If there is a .npy file below the directory, the statistic.csv files below it stay as they are.";
  command.exit_meanings = {
      {exit_completed, "done, whether or not source lines were found"},
      {exit_usage, "wrong usage, input that cannot be used, in whole or in part, or output that cannot be written"},
      {exit_internal, "internal error"},
  };
  return command;
}

Options options_from(const Arguments& arguments) {
  for (const char* name : {"ir", "dump_data"}) {
    if (!arguments.text(name).empty()) continue;
    throw UserError("the option " + arguments.shown(name) + " is missing (code_mapping -h lists all options)");
  }
  Options options;
  options.ir = arguments.text("ir");
  options.dump_data = arguments.text("dump_data");
  if (const std::string output = arguments.text("output"); !output.empty()) options.output = output;
  options.verbose = arguments.given("verbose");
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::code_mapping
