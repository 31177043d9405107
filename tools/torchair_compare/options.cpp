#include "tools/torchair_compare/options.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "tools/torchair_compare/dump_tree.h"

namespace msrun::torchair {
namespace {

// What follows a flag.
enum class Takes : std::uint8_t { nothing, value, maybe_value };

struct Flag {
  std::string_view name;
  std::string_view short_name;
  Takes takes;
};

constexpr auto flags = std::to_array<Flag>({{"--mode", "-m", Takes::value},
                                            {"--target_path", "-tp", Takes::value},
                                            {"--golden_path", "-gp", Takes::value},
                                            {"--output_path", "-o", Takes::maybe_value},
                                            {"--rank", "", Takes::value},
                                            {"--legacy_columns", "", Takes::nothing},
                                            {"--md5", "", Takes::nothing},
                                            {"--html", "", Takes::nothing},
                                            {"--threads", "", Takes::value},
                                            {"--verbose", "", Takes::nothing}});
constexpr std::uint64_t max_threads = 256;

constexpr const char* help =
    "Usage: torchair_compare --target_path T --golden_path G [--output_path O] [--rank N] [options]\n"
    "\n"
    "Compares the dump of a compiled graph with that of the same model in FX (eager) mode, or compiled without\n"
    "fusion, tensor by tensor. Also: msrun compare --mode torchair ...\n"
    "\n"
    "  -tp, --target_path T   dump of the graph engine, fusion on: msprobe_ge_dump\n"
    "  -gp, --golden_path G   msprobe_fx_dump or data_dump, or a dump of the graph engine with fusion off\n"
    "  -o, --output_path O    directory of the report, created if it is missing; default: the current directory,\n"
    "                         ./output if the flag stands alone\n"
    "      --rank N           compare only this rank; default: every rank that both sides have\n"
    "      --html             also write the report as one HTML file that needs no network\n"
    "      --md5              judge by equal checksums (CRC-32) rather than by the metrics\n"
    "      --legacy_columns   only the 24 columns from token_id on\n"
    "      --threads N        default: one for each processor\n"
    "      --verbose          also tell of operators without a counterpart; every warning, not only five of a kind\n"
    "  -m, --mode torchair    accepted because msProbe's command line has it\n"
    "  -h, --help             print this text\n"
    "\n"
    "Exit codes: 0 compared, whatever the results; 2 wrong usage, input that cannot be used, or a report that cannot "
    "be\n"
    "written; 4 internal error.\n";

const Flag* find_flag(std::string_view word) {
  const auto* found = std::find_if(flags.begin(), flags.end(),
                                   [&](const Flag& flag) { return word == flag.name || word == flag.short_name; });
  return word.empty() || found == flags.end() ? nullptr : &*found;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  Options options;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (word == "-h" || word == "--help") return PrintAndExit{help};
    std::optional<std::string> value;
    if (const std::size_t equals = word.find('='); word.starts_with("--") && equals != std::string::npos) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    const Flag* flag = find_flag(word);
    if (flag == nullptr) {
      if (word.starts_with('-')) {
        throw UserError("Invalid argument '" + sanitised(word) + "' for mode 'torchair'");
      }
      throw UserError("unexpected word " + shell_quoted(sanitised(word)));
    }
    const std::string name(flag->name);
    if (!seen.insert(flag->name).second) throw UserError(name + " is given twice");
    if (flag->takes == Takes::nothing) {
      if (value) throw UserError(name + " takes no value");
    } else if (!value && i + 1 < words.size() && (!words[i + 1].starts_with('-') || name == "--rank")) {
      value = words[++i];
    }
    if (flag->takes == Takes::value && !value) throw UserError(name + " needs a value");
    if (value && value->empty()) throw UserError(name + " needs a value");

    if (name == "--mode" && *value != "torchair") {
      throw UserError("mode " + shell_quoted(sanitised(*value)) +
                      " is not supported: this program compares torchair dumps only");
    } else if (name == "--target_path") {
      options.target_path = *value;
    } else if (name == "--golden_path") {
      options.golden_path = *value;
    } else if (name == "--output_path") {
      options.output_path = value.value_or("./output");
    } else if (name == "--rank") {
      options.rank = parse_number(*value);
      if (!options.rank) {
        throw UserError("Argument --rank only supports a single integer when mode=='torchair'.");
      }
    } else if (name == "--threads") {
      const std::optional<std::uint64_t> threads = parse_number(*value);
      if (!threads || *threads == 0 || *threads > max_threads) {
        throw UserError("--threads must be a whole number from 1 to " + std::to_string(max_threads));
      }
      options.threads = *threads;
    } else {
      options.legacy_columns = options.legacy_columns || name == "--legacy_columns";
      options.checksums = options.checksums || name == "--md5";
      options.html = options.html || name == "--html";
      options.details = options.details || name == "--verbose";
    }
  }
  if (options.target_path.empty()) throw UserError("--target_path is missing; --help tells what it is");
  if (options.golden_path.empty()) throw UserError("--golden_path is missing; --help tells what it is");
  return options;
}

}  // namespace msrun::torchair
