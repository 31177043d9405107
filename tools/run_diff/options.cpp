#include "tools/run_diff/options.h"

#include <array>

#include "kernels/base/command_line/program.h"

namespace msrun::run_diff {
namespace {

constexpr auto output_options = std::to_array<Option>({
    {"--csv FILE", "write a row for each output that has changed, and for each call; -: print it in place of the text",
     Takes::one_value},
    {"--html FILE", "write a page to be read in a browser", Takes::one_value},
    {"--json", "print all of it as one JSON object in place of the text"},
    {"--all", "name every call in the text, and have the calls that are the same in CSV, page and JSON, too"},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "run_diff";
  command.summary =
      "run_diff says what has changed between two runs over one recording: which calls are new among those that are "
      "suspicious or failed to run, which still are, which are fixed, whose metrics or bits are others, and which "
      "cannot be compared. A run is a folder, of which the newest run counts, a result CSV or a journal.";
  command.usage = {"run_diff RUN_A RUN_B [OPTIONS]", "msrun diff RUN_A RUN_B [OPTIONS]"};
  command.sections = {{"Examples",
                       {{"msrun diff ./before ./after", "what a new driver changed"},
                        {"msrun diff ./before ./after --html diff.html", "as a page"}}}};
  command.groups = {{"Output", output_options}};
  command.exit_meanings = {
      {exit_completed, "nothing is new"},
      {exit_fail_on, "something is new, or nothing was compared"},
      {exit_usage, "wrong usage, runs that cannot be read, or output that cannot be written"},
      {exit_incomplete, "nothing is new so far, but the second run is not complete"},
      {exit_internal, "internal error"},
  };
  command.most_operands = 2;
  command.operands = "two runs";
  return command;
}

Options options_from(const Arguments& arguments) {
  if (arguments.operands().size() != 2) {
    throw UserError("two runs are needed: msrun diff RUN_A RUN_B; a run is a folder, a result CSV or a journal");
  }
  Options options;
  options.run_a = arguments.operands()[0];
  options.run_b = arguments.operands()[1];
  options.csv = arguments.text("csv");
  options.html = arguments.text("html");
  options.json = arguments.given("json");
  options.all = arguments.given("all");
  for (const char* name : {"csv", "html"}) {
    if (arguments.given(name) && arguments.text(name).empty()) {
      throw UserError("the option " + arguments.shown(name) + " needs the name of a file");
    }
  }
  if (options.html == "-") throw UserError("--html writes a file; ./- is one called -");
  if (options.csv == "-" && options.json) throw UserError("--csv - and --json both want standard output");
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::run_diff
