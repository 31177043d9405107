#include "tools/overflow_check/options.h"

#include <array>

#include "kernels/base/command_line/program.h"

namespace msrun::overflow_check {
namespace {

constexpr auto paths = std::to_array<Option>({
    {"-i, --input_path DIR",
     "a step of a recording: holds rank0, rank1, ..., or is the folder of one dump.json; or a recording of several "
     "steps",
     Takes::one_value},
    {"--output_path, -o [DIR]", "directory of the result, created if it is missing; default: ./output",
     Takes::optional_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "overflow_check";
  command.summary =
      "overflow_check names the call that brought the first NaN or infinity into a run, over all ranks and through "
      "their communications. Of each rank it reads dump.json, and construct.json and stack.json beside it. Also: msrun "
      "overflow_check -i step0";
  command.usage = {"overflow_check -i DIR [-o DIR]"};
  command.sections = {{"Examples", {{"overflow_check -i dump/step0 -o out", "all ranks of a step"}}}};
  command.groups = {{"Options", paths}};
  command.exit_meanings = {
      {exit_completed, "searched, whatever was found"},
      {exit_fail_on, "nothing was found, and some rank could not be looked at: no tensor of it has statistics"},
      {exit_usage, "wrong usage, input that cannot be used, or a result that cannot be written"},
      {exit_internal, "internal error"},
  };
  return command;
}

Options options_from(const Arguments& arguments) {
  if (!arguments.given("input_path")) throw UserError("-i is missing; --help tells what it is");
  Options options;
  options.input_path = arguments.filled("input_path");
  if (arguments.given("output_path")) options.output_path = arguments.text("output_path", options.output_path);
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::overflow_check
