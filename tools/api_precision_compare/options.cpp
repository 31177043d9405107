#include "tools/api_precision_compare/options.h"

#include <array>

#include "kernels/base/command_line/program.h"

namespace msrun::api_precision_compare {

namespace {

constexpr auto files = std::to_array<Option>({
    {"-npu, --npu_csv_path FILE",
     "accuracy_checking_details_<time>.csv of the NPU; default: the one in the current folder", Takes::one_value},
    {"-gpu, --gpu_csv_path FILE",
     "accuracy_checking_details_<time>.csv of the GPU; default: the one in the current folder", Takes::one_value},
    {"-o, --out_path DIR", "directory of the two output files (default ./)", Takes::one_value},
    {"-config, --config_path FILE",
     "config.yaml whose precision is the number of decimals; or config.json, beside which it is", Takes::one_value},
});

constexpr auto judging = std::to_array<Option>({
    {"--standard POLICY", "per_api (default): the documented standard of each API; current: newest msProbe",
     Takes::one_value},
    {"--compat msprobe", "reproduce msProbe's files, known errors included", Takes::one_value},
    {"--titles LANGUAGE", "titles and texts: zh (default, also cn) or en", Takes::one_value},
    {"--fail-on LEVEL", "exit code 1 if an API is an error, or a warning", Takes::one_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "api_precision_compare";
  command.summary =
      "api_precision_compare compares two details files of acc_check, one of an NPU and one of a GPU, over the same "
      "calls: an API passes if the NPU's errors are of the size of the GPU's, or within the API's own standard.";
  command.usage = {"api_precision_compare -npu FILE -gpu FILE [-o DIR] [OPTIONS]"};
  command.sections = {{"Examples",
                       {{"api_precision_compare -npu npu/details.csv -gpu gpu/details.csv -o out", "two files in out/"},
                        {"msrun api_precision_compare -npu n.csv -gpu g.csv --titles en", "English titles"}}}};
  command.groups = {{"Files", files}, {"Judging", judging}};
  command.exit_meanings = {
      {exit_completed, "compared, whatever the verdicts"},
      {exit_fail_on, "compared, and --fail-on is met; or nothing could be compared"},
      {exit_usage, "wrong usage, input that cannot be used, in whole or in part, or output that cannot be written"},
      {exit_internal, "internal error"},
  };
  return command;
}

Options options_from(const Arguments& arguments) {
  Options options;
  options.npu_path = arguments.text("npu");
  options.gpu_path = arguments.text("gpu");
  options.out_path = arguments.text("out_path", options.out_path);
  options.config_path = arguments.text("config_path");
  options.rules.policy =
      arguments.choice("standard", options.rules.policy, {{"per_api", Policy::per_api}, {"current", Policy::current}});
  options.rules.compat_msprobe = arguments.choice("compat", false, {{"msprobe", true}});
  options.rules.english = arguments.choice("titles", false, {{"zh", false}, {"cn", false}, {"en", true}});
  options.fail_on =
      arguments.choice("fail_on", FailLevel::never, {{"error", FailLevel::error}, {"warning", FailLevel::warning}});
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::api_precision_compare
