#include "tools/api_precision_compare/options.h"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/option_choice.h"
#include "kernels/base/text.h"

namespace msrun::api_precision_compare {

namespace po = boost::program_options;

namespace {

constexpr const char* usage_hint = " (api_precision_compare -h lists all options)";

constexpr const char* help_text =
    "api_precision_compare compares two details files of acc_check, one of an NPU and one of a GPU, over the same "
    "calls:\n"
    "an API passes if the NPU's errors are of the size of the GPU's, or within the API's own standard.\n"
    "\n"
    "Usage: api_precision_compare -npu FILE -gpu FILE [-o DIR] [OPTIONS]\n"
    "\n"
    "  -npu, --npu_csv_path FILE  accuracy_checking_details_<time>.csv of the NPU\n"
    "  -gpu, --gpu_csv_path FILE  the same of the GPU\n"
    "  -o, --out_path DIR         directory of the two output files (default ./)\n"
    "  --standard POLICY          per_api (default): the documented standard of each API; current: newest msProbe\n"
    "  --compat msprobe           reproduce msProbe's files, known errors included\n"
    "  --titles LANGUAGE          titles and texts: zh (default, also cn) or en\n"
    "  --fail-on LEVEL            exit code 1 if an API is an error, or a warning\n"
    "  -h, --help                 print this text\n"
    "  --version                  print the version\n"
    "\n"
    "Exit codes: 0 compared, whatever the verdicts, 1 compared and --fail-on met, 2 wrong usage, input that cannot be\n"
    "used, in whole or in part, or output that cannot be written, 4 internal error.\n";

struct Spelling {
  std::string_view alias;
  std::string_view name;
};

// One name for each option; '-' and '_' inside it are the same.
constexpr std::array<Spelling, 4> aliases{{
    {"npu", "npu_csv_path"},
    {"gpu", "gpu_csv_path"},
    {"o", "out_path"},
    {"h", "help"},
}};

std::vector<std::string> normalised(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (std::string& word : words) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::size_t dashes = word[1] == '-' ? 2 : 1;
    const std::size_t equals = std::min(word.find('='), word.size());
    std::string name = word.substr(dashes, equals - dashes);
    const std::string value = word.substr(equals);
    std::ranges::replace(name, '-', '_');
    for (const Spelling& spelling : aliases) {
      if (name == spelling.alias) name = spelling.name;
    }
    word = "--";
    word += name;
    word += value;
  }
  return words;
}

po::options_description description() {
  po::options_description known;
  for (const char* name : {"npu_csv_path", "gpu_csv_path", "out_path", "standard", "compat", "titles", "fail_on"}) {
    known.add_options()(name, po::value<std::string>());
  }
  known.add_options()("help", "")("version", "");
  return known;
}

// The word of an option that may be missing.
template <class T>
void choose(const po::variables_map& values, const char* name, const char* shown, T& target,
            std::initializer_list<std::pair<std::string_view, T>> choices) {
  if (values.contains(name)) target = option_choice<T>(shown, values[name].as<std::string>(), choices);
}

}  // namespace

std::variant<Options, std::string> parse_options(int argc, const char* const* argv) {
  po::variables_map values;
  try {
    using namespace po::command_line_style;
    const po::options_description known = description();
    const po::parsed_options parsed = po::command_line_parser(normalised(argc, argv))
                                          .options(known)
                                          .style(allow_long | long_allow_adjacent | long_allow_next)
                                          .run();
    for (const auto& option : parsed.options) {
      if (option.position_key >= 0) {
        throw UserError("unexpected argument " + shell_quoted(sanitised(option.value.empty() ? "" : option.value[0])) +
                        usage_hint);
      }
    }
    po::store(parsed, values);
  } catch (const po::error& error) {
    throw UserError(sanitised(error.what()) + usage_hint);
  }
  if (values.contains("help")) return help_text;
  if (values.contains("version")) return "api_precision_compare " MSRUN_VERSION "\n";
  for (const auto& [name, shown] : {std::pair{"npu_csv_path", "-npu"}, {"gpu_csv_path", "-gpu"}}) {
    if (!values.contains(name)) throw UserError("the option " + std::string(shown) + " FILE is missing" + usage_hint);
  }
  Options options;
  options.npu_path = values["npu_csv_path"].as<std::string>();
  options.gpu_path = values["gpu_csv_path"].as<std::string>();
  if (values.contains("out_path")) options.out_path = values["out_path"].as<std::string>();
  choose<Policy>(values, "standard", "--standard", options.rules.policy,
                 {{"per_api", Policy::per_api}, {"current", Policy::current}});
  choose<bool>(values, "compat", "--compat", options.rules.compat_msprobe, {{"msprobe", true}});
  choose<bool>(values, "titles", "--titles", options.rules.english, {{"zh", false}, {"cn", false}, {"en", true}});
  choose<FailLevel>(values, "fail_on", "--fail-on", options.fail_on,
                    {{"error", FailLevel::error}, {"warning", FailLevel::warning}});
  return options;
}

}  // namespace msrun::api_precision_compare
