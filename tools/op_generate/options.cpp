#include "tools/op_generate/options.h"

#include <array>
#include <limits>

#include "kernels/base/command_line/program.h"
#include "kernels/io/files/paths.h"
#include "tools/common/recorded_call.h"

namespace msrun::op_generate {

namespace {

constexpr auto file_options = std::to_array<Option>({
    {"-i, --config_input FILE",
     "the configuration, usually config_op.json; with --api the dump.json itself, or a folder with it",
     Takes::one_value},
    {"-o, --api_output_path DIR", "directory of the script (with --api, default ./); made if it is missing",
     Takes::one_value},
    {"--allow-outside-data", "tensor files may lie outside of the folder that the dump names"},
});

constexpr auto call_options = std::to_array<Option>({
    {"--api NAME", "take this API of the dump, such as Torch.matmul.0, without a configuration", Takes::one_value},
    {"--propagation DIRECTION", "forward (default) or backward", Takes::one_value},
    {"--data_mode MODE", "random_data (default), within the recorded ranges, or real_data, the dump's tensors",
     Takes::one_value},
    {"--random_seed N", "seed of random data (default 1234, of MindSpore 42)", Takes::one_value},
    {"--iter_times N", "how often the call runs, 1 to 1000 (default 1); real data run once", Takes::one_value},
});

constexpr auto running_options = std::to_array<Option>({
    {"--run", "compare here and now without Python: msrun's own kernels against raised precision; of PyTorch only"},
    {"--seed-mode MODE", "with --run: stream (default), the data of the script, or per-api, those of a pre-check",
     Takes::one_value},
    {"--save-inputs FILE", "with --run: every tensor that is built, as JSON", Takes::one_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "op_generate";
  command.summary =
      "op_generate takes one API call out of a dump and writes a Python script that runs it on a device and on the CPU "
      "in higher precision and compares the results: for whoever has the device, but neither the model nor msrun.";
  command.usage = {"op_generate -i CONFIG -o DIR [--run]", "op_generate --api NAME -i DUMP [-o DIR] [OPTIONS]"};
  command.sections = {{"Examples",
                       {{"op_generate -i config_op.json -o scripts", "as the configuration says"},
                        {"op_generate --api Torch.matmul.0 -i dump.json", "a script for one call of a dump"},
                        {"msrun op_generate --api Torch.matmul.0 -i dump.json --run", "and its table right away"}}}};
  command.groups = {
      {"Files", file_options}, {"The call, if no configuration says it", call_options}, {"Running", running_options}};
  command.note =
      "Keys of a configuration: dump_json_path, api_name, extract_api_path, propagation, data_mode, random_seed, "
      "iter_times; options of the same name say the same.";
  command.exit_meanings = {
      {exit_completed, "the script is written; with --run, whatever the verdicts"},
      {exit_usage, "wrong usage, input that cannot be used, or output that cannot be written"},
      {exit_internal, "internal error"},
  };
  return command;
}

// "Torch.matmul.0" of "Torch.matmul.0.backward", which also says the direction.
void take_api(const Arguments& arguments, const std::string& name, Configuration& configuration) {
  if (arguments.given("propagation")) configuration.propagation = direction_of(arguments.text("propagation"));
  configuration.api = name;
  std::string_view base;
  if (const auto direction = split_direction(configuration.api, base)) {
    if (arguments.given("propagation") && *direction != configuration.propagation) {
      throw UserError(arguments.shown("api") + " " + configuration.api + " and " + arguments.shown("propagation") +
                      " " + direction_text(configuration.propagation) + " contradict each other");
    }
    configuration.propagation = *direction;
    configuration.api = std::string(base);
  }
  check_call_name(configuration.api);
}

void set_call(const Arguments& arguments, Options& options) {
  if (!arguments.given("api")) {
    for (const char* name : {"propagation", "data_mode", "random_seed", "iter_times"}) {
      if (arguments.given(name)) {
        throw UserError(arguments.shown(name) + " needs --api NAME: otherwise the configuration says it");
      }
    }
    return;
  }
  Configuration& configuration = options.from_dump;
  const RecordedCall recorded = find_recorded_call(options.input, arguments.text("api"));
  take_api(arguments, recorded.name, configuration);
  configuration.dump_path = recorded.recording;
  check_input_file(configuration.dump_path, {".json"}, max_json_bytes);
  configuration.extraction_path = join_path(options.output, configuration.api + ".json");
  if (arguments.given("data_mode")) configuration.data_mode = data_mode_of(arguments.text("data_mode"));
  using Limits = std::numeric_limits<std::int64_t>;
  if (arguments.given("random_seed")) {
    configuration.seed =
        arguments.number<std::int64_t>("random_seed", 0, Limits::min(), Limits::max(), "a whole number");
  }
  configuration.iterations = arguments.number<std::int64_t>("iter_times", 1, 1, 1000, "a whole number");
  if (configuration.data_mode == DataMode::real_data) configuration.iterations = 1;
}

Options options_from(const Arguments& arguments) {
  Options options;
  if (!arguments.given("config_input")) {
    throw UserError("the option " + arguments.shown("config_input") +
                    " FILE is missing (op_generate -h lists all options)");
  }
  options.input = arguments.text("config_input");
  if (options.input.empty()) throw UserError("config_input path can not be empty, please check.");
  const std::string output = arguments.text("api_output_path");
  if (output.empty() && !arguments.given("api")) {
    throw UserError("the option " + arguments.shown("api_output_path") +
                    " DIR is missing (op_generate -h lists all options)");
  }
  if (!output.empty()) options.output = output;
  options.allow_outside_data = arguments.given("allow_outside_data");
  options.run = arguments.given("run");
  for (const char* name : {"seed_mode", "save_inputs"}) {
    if (arguments.given(name) && !options.run) throw UserError(arguments.shown(name) + " needs --run");
  }
  options.seed_mode =
      arguments.choice("seed_mode", SeedMode::stream, {{"stream", SeedMode::stream}, {"per-api", SeedMode::per_api}});
  options.inputs_path = arguments.text("save_inputs");
  set_call(arguments, options);
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::op_generate
