#include "tools/tensor_compare/options.h"

#include <array>

#include "kernels/base/command_line/program.h"

namespace msrun::tensor_compare {

namespace {

constexpr auto what = std::to_array<Option>({
    {"--cases FILE.json", "compare all pairs of a file laid out like a golden file", Takes::one_value},
    {"--api NAME",
     "the API that made the tensors: it decides the standard. Default: from the device's file name if that is a "
     "dump's, else none",
     Takes::one_value},
    {"--bench-dtype DTYPE",
     "what the benchmark's file holds, where the file cannot say it: bfloat16 and float8 are integers in .npy; other "
     "values are converted",
     Takes::one_value},
    {"--device-dtype DTYPE", "what the device's file holds", Takes::one_value},
});

constexpr auto judging = std::to_array<Option>({
    {"--standard POLICY", "per_api (default): the documented standard of each API; current: newest msProbe",
     Takes::one_value},
    {"--limits LIMITS", "constants of small values: current (default), those of the tool in use, or documented",
     Takes::one_value},
    {"--compat msprobe", "reproduce msProbe's cells, known errors included", Takes::one_value},
    {"--fail-on LEVEL", "exit code 1 if a row is an error, or a warning", Takes::one_value},
});

constexpr auto output = std::to_array<Option>({
    {"--format FORMAT", "table (default for two files on a terminal) or csv", Takes::one_value},
    {"--titles LANGUAGE", "zh (default in CSV) or en (default in a table)", Takes::one_value},
    {"--precision N", "decimals of double precision cells, 0 to 20 (default 14)", Takes::one_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "tensor_compare";
  command.summary =
      "tensor_compare compares two tensors as the pre-check does and prints the row of the details file. Of the two "
      ".npy or .pt files the first is the benchmark, the second what the device computed.";
  command.usage = {"tensor_compare BENCHMARK DEVICE [OPTIONS]", "tensor_compare --cases FILE.json [OPTIONS]"};
  command.sections = {{"Examples",
                       {{"tensor_compare bench.npy device.npy --api matmul", "by the standard of matmul"},
                        {"tensor_compare bench.pt device.pt --fail-on error", "exit code 1 for an error"}}}};
  command.groups = {{"Input", what}, {"Judging", judging}, {"Output", output}};
  command.exit_meanings = {
      {exit_completed, "compared, whatever the verdict"},
      {exit_fail_on, "compared, and --fail-on is met; or no pair could be compared"},
      {exit_usage, "wrong usage, input that cannot be used, or output that cannot be written"},
      {exit_internal, "internal error"},
  };
  command.most_operands = 2;
  command.operands = "two files";
  return command;
}

std::optional<DType> dtype_option(const Arguments& arguments, const char* name) {
  if (!arguments.given(name)) return std::nullopt;
  const std::string text = arguments.text(name);
  const std::optional<DType> dtype = parse_dtype(text);
  if (!dtype) throw UserError(arguments.shown(name) + " is no known dtype: " + shell_quoted(sanitised(text)));
  return dtype;
}

void set_input(const Arguments& arguments, Options& options) {
  const std::vector<std::string>& files = arguments.operands();
  if (arguments.given("cases")) {
    options.cases_path = arguments.text("cases");
    if (!files.empty()) throw UserError("--cases takes no further files");
    for (const char* name : {"api", "bench-dtype", "device-dtype"}) {
      if (arguments.given(name)) throw UserError("--cases says itself what " + arguments.shown(name) + " would");
    }
  } else if (files.size() == 2) {
    options.bench_path = files[0];
    options.device_path = files[1];
  } else {
    throw UserError(
        "two files are needed, the benchmark's first: tensor_compare BENCHMARK DEVICE, or --cases FILE.json; "
        "tensor_compare -h lists all options");
  }
}

Options options_from(const Arguments& arguments) {
  Options options;
  set_input(arguments, options);
  options.api = arguments.text("api");
  options.bench_dtype = dtype_option(arguments, "bench-dtype");
  options.device_dtype = dtype_option(arguments, "device-dtype");
  options.policy =
      arguments.choice("standard", options.policy, {{"per_api", Policy::per_api}, {"current", Policy::current}});
  options.limits =
      arguments.choice("limits", options.limits, {{"current", Limits::current}, {"documented", Limits::documented}});
  options.compat_msprobe = arguments.choice("compat", false, {{"msprobe", true}});
  options.format =
      arguments.choice<std::optional<Format>>("format", std::nullopt, {{"csv", Format::csv}, {"table", Format::table}});
  options.english =
      arguments.choice<std::optional<bool>>("titles", std::nullopt, {{"zh", false}, {"cn", false}, {"en", true}});
  options.fail_on =
      arguments.choice("fail-on", FailOn::never, {{"error", FailOn::error}, {"warning", FailOn::warning}});
  options.precision = arguments.number("precision", options.precision, 0, 20);
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::tensor_compare
