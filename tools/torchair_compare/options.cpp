#include "tools/torchair_compare/options.h"

#include <array>

#include "kernels/base/command_line/program.h"

namespace msrun::torchair {
namespace {

constexpr std::uint64_t max_threads = 256;

constexpr auto dump_options = std::to_array<Option>({
    {"--target_path, -tp DIR", "dump of the graph engine, fusion on: msprobe_ge_dump", Takes::one_value},
    {"--golden_path, -gp DIR", "msprobe_fx_dump or data_dump, or a dump of the graph engine with fusion off",
     Takes::one_value},
    {"--rank N", "compare only this rank; default: every rank that both sides have", Takes::one_value},
    {"--mode, -m torchair", "accepted because msProbe's command line has it", Takes::one_value},
});

constexpr auto report_options = std::to_array<Option>({
    {"--output_path, -o [DIR]",
     "directory of the report, created if it is missing; default: the current directory, ./output if the flag is given "
     "without one",
     Takes::optional_value},
    {"--html", "also write the report as one HTML file that needs no network"},
    {"--md5", "judge by equal checksums (CRC-32) rather than by the metrics"},
    {"--legacy_columns", "only the 24 columns from token_id on"},
});

constexpr auto running_options = std::to_array<Option>({
    {"--threads N", "default: one for each processor", Takes::one_value},
    {"--verbose", "also tell of operators without a counterpart; every warning, not only five of a kind"},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "torchair_compare";
  command.summary =
      "torchair_compare compares the dump of a compiled graph with that of the same model in FX (eager) mode, or "
      "compiled without fusion, tensor by tensor. Also: msrun compare --mode torchair ...";
  command.usage = {"torchair_compare --target_path DIR --golden_path DIR [--output_path DIR] [--rank N] [OPTIONS]"};
  command.sections = {{"Examples",
                       {{"torchair_compare -tp msprobe_ge_dump -gp msprobe_fx_dump -o out --html", "CSV and HTML"},
                        {"torchair_compare -tp fused -gp unfused --rank 0", "one rank of two graph dumps"}}}};
  command.groups = {{"Dumps", dump_options}, {"Report", report_options}, {"Running", running_options}};
  command.exit_meanings = {
      {exit_completed, "compared, whatever the results"},
      {exit_fail_on, "nothing was compared"},
      {exit_usage, "wrong usage, input that cannot be used, be it one folder, or a report that cannot be written"},
      {exit_internal, "internal error"},
  };
  return command;
}

std::string directory(const Arguments& arguments, const char* name) {
  if (!arguments.given(name)) throw UserError(arguments.shown(name) + " is missing; --help tells what it is");
  return arguments.filled(name);
}

Options options_from(const Arguments& arguments) {
  if (const std::string mode = arguments.text("mode", "torchair"); mode != "torchair") {
    throw UserError("mode " + shell_quoted(sanitised(mode)) +
                    " is not supported: this program compares torchair dumps only");
  }
  Options options;
  options.target_path = directory(arguments, "target_path");
  options.golden_path = directory(arguments, "golden_path");
  if (arguments.given("output_path")) {
    const bool alone = arguments.texts("output_path").empty();
    options.output_path = alone ? "./output" : arguments.filled("output_path");
  }
  if (arguments.given("rank")) {
    options.rank = parse_number<std::uint64_t>(arguments.filled("rank"));
    if (!options.rank) throw UserError("Argument --rank only supports a single integer when mode=='torchair'.");
  }
  options.threads = arguments.number<std::uint64_t>("threads", options.threads, 1, max_threads, "a whole number");
  options.legacy_columns = arguments.given("legacy_columns");
  options.checksums = arguments.given("md5");
  options.html = arguments.given("html");
  options.details = arguments.given("verbose");
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::torchair
