#include "tools/run_report/options.h"

#include <array>

#include "kernels/base/command_line/program.h"

namespace msrun::run_report {
namespace {

constexpr auto output = std::to_array<Option>({
    {"-o, --out FILE",
     "the file to write, - for stdout (default: accuracy_checking_report_<time>.html beside the CSVs, with --share "
     "accuracy_checking_report_<time>_share.html)",
     Takes::one_value},
    {"--share", "leave out what others are not to see: paths, host names, and values of the recording"},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "run_report";
  command.summary =
      "run_report writes the report of a run: one HTML file that needs nothing but a browser. A run that is complete "
      "has one already, unless it was started with --no-report; a run that was interrupted gets one of what it has so "
      "far. Everything in it is from the run's journal. Of a run that has none, such as one of the Python tool, it "
      "shows what the CSVs tell, and says what they do not.";
  command.usage = {"run_report RUN [OPTIONS]"};
  command.sections = {
      {"Examples",
       {{"run_report ./result", "the newest run of a folder"},
        {"run_report ./result/accuracy_checking_20261121071535.journal --share -o for_others.html",
         "a report without paths, host names and values"},
        {"run_report ./result/accuracy_checking_result_20250304112233.csv", "a run of the Python tool"}}}};
  command.groups = {{"Output", output}};
  command.exit_meanings = {
      {exit_completed, "the report is written"},
      {exit_usage, "wrong usage, no run, or a file that cannot be written"},
      {exit_internal, "internal error"},
  };
  command.most_operands = 1;
  command.operands = "one run: its folder, its journal or one of its CSVs";
  return command;
}

Options options_from(const Arguments& arguments) {
  if (arguments.operands().empty() || arguments.operands().front().empty()) {
    throw UserError("a run is needed: run_report RUN [-o FILE]; run_report -h lists all options");
  }
  Options options;
  options.run = arguments.operands().front();
  options.out_path = arguments.text("out");
  if (arguments.given("out") && options.out_path.empty()) {
    throw UserError("the option " + arguments.shown("out") + " needs the name of a file");
  }
  options.share = arguments.given("share");
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::run_report
