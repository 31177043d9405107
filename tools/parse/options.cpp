#include "tools/parse/options.h"

#include <array>

#include "kernels/base/command_line/program.h"

namespace msrun::parse {
namespace {

constexpr auto input = std::to_array<Option>({
    {"-d, --dump_path PATH",
     "the file or directory, as msProbe's parse has it; then -t is pt and -o ./output by default", Takes::one_value},
});

constexpr auto output = std::to_array<Option>({
    {"-o, --out_path, --output_path DIR",
     "write every tensor to a file of its own in this directory, which is made if it is missing", Takes::one_value},
    {"-t, --type TYPE", "npy (default), or pt, which PyTorch loads: the type of those files", Takes::one_value},
    {"--stats", "show the statistics of the values: min, max, mean, l2 norm, counts of NaN and infinity"},
    {"--format FORMAT", "table (default on a terminal) or csv", Takes::one_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "parse";
  command.summary =
      "parse shows what is in files of tensors and turns them into .npy: dump files of the graph engine, .pt files "
      "with "
      "one tensor, .npz archives and .npy. Of a directory it takes all such files in it and below it.";
  command.usage = {"parse FILE|DIR [OPTIONS]", "parse -d FILE|DIR [-t npy|pt] [-o DIR] [OPTIONS]"};
  command.sections = {
      {"Examples",
       {{"parse Add.Add_1.3.0.1767607200000", "what the dump of an operator holds"},
        {"parse ./dump -o ./npy --stats", "all tensors of a dump as .npy, and their statistics"},
        {"parse -d ./dump -t pt -o ./output", "all tensors as .pt, as msProbe's command line has it"}}}};
  command.groups = {{"Input", input}, {"Output", output}};
  command.exit_meanings = {
      {exit_completed, "all tensors were read, and written where that was asked for"},
      {exit_fail_on,
       "some files of a directory could not be read or not be looked at, or some tensors not written: rows and "
       "warnings "
       "say why"},
      {exit_usage, "wrong usage, or input or output that cannot be used"},
      {exit_internal, "internal error"},
  };
  command.most_operands = 1;
  command.operands = "one file or directory";
  return command;
}

Options options_from(const Arguments& arguments) {
  const bool as_msprobe = arguments.given("dump_path");
  if (arguments.operands().empty() && !as_msprobe) {
    throw UserError("a file or a directory is needed: parse FILE|DIR [-o DIR]; parse -h lists all options");
  }
  if (!arguments.operands().empty() && as_msprobe) {
    throw UserError("the file or directory is given twice: with " + arguments.shown("dump_path") + " and without");
  }
  Options options;
  options.input = as_msprobe ? arguments.filled("dump_path") : arguments.operands().front();
  options.out_path = arguments.text("out_path", as_msprobe ? "./output" : "");
  if (arguments.given("out_path") && options.out_path.empty()) {
    throw UserError("the option " + arguments.shown("out_path") + " needs the name of a directory");
  }
  options.type = arguments.choice("type", as_msprobe ? FileType::pt : FileType::npy,
                                  {{"npy", FileType::npy}, {"pt", FileType::pt}});
  if (arguments.given("type") && options.out_path.empty()) {
    throw UserError(arguments.shown("type") + " needs -o DIR, where the files are written");
  }
  options.statistics = arguments.given("stats");
  options.format =
      arguments.choice<std::optional<Format>>("format", std::nullopt, {{"csv", Format::csv}, {"table", Format::table}});
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::parse
