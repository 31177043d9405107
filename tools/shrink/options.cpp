#include "tools/shrink/options.h"

#include <array>

#include "kernels/base/command_line/program.h"

namespace msrun::shrink {

namespace {

constexpr auto what = std::to_array<Option>({
    {"--api NAME", "the suspicious call, as the result file names it: Torch.matmul.0", Takes::one_value},
    {"-i, --input PATH",
     "the recording, dump.json; or the run that found the call: its journal, a CSV beside it, or the folder of both, "
     "which say where the recording is and with which options it was run",
     Takes::one_value},
    {"-o, --output DIR", "the folder of the results, which is made and must not hold anything yet", Takes::one_value},
});

constexpr auto searching = std::to_array<Option>({
    {"--times K",
     "how often in a row the call and both results must fail, each time in a fresh process (default 3); given, every "
     "step is run so often as well, for faults that come and go",
     Takes::one_value},
    {"--time SECONDS", "after which the smallest so far is the result (default 60)", Takes::one_value},
});

// As msrun has them; they replace those of the journal.
constexpr auto of_the_run = std::to_array<Option>({
    {"--backend BACKEND", "what the call runs on: sim, recorded, torch, torch:npu, ...", Takes::one_value},
    {"--recorded-on DEVICE", "what made recorded results: npu, cuda or cpu", Takes::one_value},
    {"-d, --device ID", "device id; default: the one that the journal names, else 0", Takes::one_value},
    {"--sim-fault PATTERN=FAULT", "a fault of the simulated device", Takes::one_value_each_time},
    {"--python FILE", "the Python of the torch backend", Takes::one_value},
    {"-config, --config_path FILE", "config.json or config.yaml of the run", Takes::one_value},
    {"--seed N", "seed of the data that statistics become", Takes::one_value},
    {"--seed-mode MODE", "per-api or stream", Takes::one_value},
    {"--standard POLICY", "per_api or current", Takes::one_value},
    {"--limits LIMITS", "current or documented", Takes::one_value},
    {"--task-timeout TIME", "after which the call counts as hanging", Takes::one_value},
    {"--memory SIZE", "how much memory the call may take", Takes::one_value},
    {"--allow-outside-data", "read tensor files outside of the folder of the recording", Takes::nothing},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "shrink";
  command.summary =
      "shrink makes of a call that a run found suspicious the smallest recording that still fails for the same cause: "
      "fewer elements and arguments (smallest), and fewer values in the same shapes (same_shape). Every step is "
      "accepted only if a fresh msrun fails with the written recording as the call did.";
  command.usage = {"shrink --api NAME -i DUMP_OR_JOURNAL -o DIR [OPTIONS]"};
  command.sections = {{"Examples",
                       {{"shrink --api Torch.matmul.0 -i out -o small", "a call of the run whose files are in out"},
                        {"shrink --api Torch.matmul.0 -i dump.json -o small --backend torch:npu", "of a recording"}}}};
  command.groups = {{"What", what}, {"Searching", searching}, {"How the call is run", of_the_run}};
  command.exit_meanings = {
      {exit_completed, "both results are written"},
      {exit_fail_on, "the call is not suspicious, or does not fail the same way every time"},
      {exit_usage, "wrong usage, input that cannot be used, or output that cannot be written"},
      {exit_incomplete, "interrupted: the smallest so far is written"},
      {exit_internal, "internal error"},
  };
  return command;
}

// Options of the pre-check, in msrun's own spelling.
std::vector<OptionWords> words_of_the_run(const Arguments& arguments) {
  std::vector<OptionWords> words;
  for (const char* name : {"backend", "recorded-on", "sim-fault", "python", "seed", "seed-mode", "standard", "limits",
                           "task-timeout", "memory"}) {
    for (const std::string& value : arguments.texts(name)) words.push_back({std::string("--") + name, value});
  }
  if (arguments.given("config_path")) words.push_back({"-config", arguments.text("config_path")});
  if (arguments.given("allow-outside-data")) words.push_back({"--allow-outside-data"});
  return words;
}

Options options_from(const Arguments& arguments) {
  for (const char* needed : {"api", "input", "output"}) {
    if (!arguments.given(needed) || arguments.text(needed).empty()) {
      throw UserError(arguments.shown(needed) +
                      " is needed: shrink --api NAME -i DUMP_OR_JOURNAL -o DIR; shrink -h lists all options");
    }
  }
  Options options;
  options.api = arguments.text("api");
  options.input = arguments.text("input");
  options.output = arguments.text("output");
  options.times = arguments.number("times", options.times, 1, 1000, "a whole number");
  if (arguments.given("times")) options.times_of_a_step = options.times;
  options.seconds = arguments.number("time", options.seconds, 0.0, 1e6, "a time in seconds");
  if (arguments.given("device")) options.device = arguments.number("device", 0, 0, 1 << 20, "a device id");
  options.of_the_run = words_of_the_run(arguments);
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::shrink
