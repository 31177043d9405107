#include "orchestrator/command/command_flags.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <optional>

#include "kernels/base/text.h"
#include "orchestrator/command/journal_command.h"

namespace msrun {

namespace po = boost::program_options;

const std::vector<Flag>& flags() {
  static const std::vector<Flag> table{
      {{"api_info", "api_info_file"},
       Takes::one_value,
       "-api_info, --api_info_file FILE",
       "dump.json to check",
       "Input"},
      {{"config_path", "config"},
       Takes::one_value,
       "-config, --config_path FILE",
       "config.json with white_list, black_list, error_data_path",
       "Input"},
      {{"csv_path", "result_csv_path"},
       Takes::one_value,
       "-csv_path, --result_csv_path FILE",
       "continue the run that wrote this result CSV",
       "Input"},
      {{"retry_skip"},
       Takes::nothing,
       "--retry-skip",
       "with -csv_path: run again what was SKIP, except by rule",
       "Input"},
      {{"filter_api", "f"}, Takes::nothing, "-f, --filter_api", "check calls that differ only in values once", "Input"},
      {{"only"}, Takes::one_value_each_time, "--only GLOB", "check only calls whose name matches; repeatable", "Input"},
      {{"filter_compat"}, Takes::nothing, "--filter-compat", "with -f: msProbe's rule for equal calls", "Input"},
      {{"forward_input_file", "forward"},
       Takes::one_value,
       "-forward, --forward_input_file FILE",
       "forward_info of the older recorder, in place of -api_info",
       "Input"},
      {{"backward_input_file", "backward"},
       Takes::one_value,
       "-backward, --backward_input_file FILE",
       "backward_info that belongs to it",
       "Input"},
      {{"real_data_path"},
       Takes::one_value,
       "-real_data_path DIR",
       "directory above forward_real_data (default: of -forward)",
       "Input"},

      {{"device", "d"}, Takes::values, "-d, --device ID...", "up to eight device ids of 0..7 (default 0)", "Running"},
      {{"num_splits", "n"},
       Takes::one_value,
       "-n, --num_splits N",
       "threads, 1..64, at most eight per device (default 8; acc_check 1)",
       "Running"},
      {{"backend"},
       Takes::one_value,
       "--backend NAME",
       "auto, sim, recorded, torch, torch:cpu, torch:cuda, torch:npu (default auto)",
       "Running"},
      {{"sim_fault"},
       Takes::one_value_each_time,
       "--sim-fault FAULT",
       "fault of the sim backend; repeatable",
       "Running"},
      {{"seed"}, Takes::one_value, "--seed N", "seed of generated inputs (default 1234)", "Running"},
      {{"seed_mode"},
       Takes::one_value,
       "--seed-mode MODE",
       "per-api (default): inputs depend on the call alone; stream: torch's one stream",
       "Running"},
      {{"task_timeout"},
       Takes::one_value,
       "--task-timeout TIME",
       "limit for one call: 90, 90s, 5m, 1h, 0 for none (default: by its cost, at least 5m)",
       "Running"},
      {{"retries"}, Takes::one_value, "--retries N", "retries of a call whose runner died (default 2)", "Running"},
      {{"max_device_failures"},
       Takes::one_value,
       "--max-device-failures N",
       "deaths of an idle runner before its device is given up (default 3)",
       "Running"},
      {{"memory"},
       Takes::one_value,
       "--memory SIZE",
       "limit for all calls in flight: 2G, 512M or, of free memory, 50% (default 80%)",
       "Running"},
      {{"durability"},
       Takes::one_value,
       "--durability LEVEL",
       "results survive: process (default) any crash; power also a power loss, after 1 s",
       "Running"},
      {{"jit_compile", "j"}, Takes::nothing, "-j, --jit_compile", "let the NPU compile operators", "Running"},

      {{"standard"},
       Takes::one_value,
       "--standard POLICY",
       "per_api (default): the documented standard of each API; current: newest msProbe",
       "Judging"},
      {{"compat"}, Takes::one_value, "--compat msprobe", "reproduce msProbe's cells, known errors included", "Judging"},
      {{"fail_on"},
       Takes::one_value,
       "--fail-on LEVEL",
       "exit code 1 if there is an error, a warning, or a suspicious one",
       "Judging"},

      {{"out_path", "o"}, Takes::one_value, "-o, --out_path DIR", "directory of the CSV files (default ./)", "Output"},
      {{"save_error_data"}, Takes::nothing, "-save_error_data", "save tensors of calls that do not pass", "Output"},
      {{"titles"}, Takes::one_value, "--titles LANGUAGE", "column titles: zh (default, also cn) or en", "Output"},
      {{"message_format"},
       Takes::one_value,
       "--message-format FORMAT",
       "human (default) or json, one object per line",
       "Output"},
      {{"summary"}, Takes::nothing, "--summary, --no-summary", "closing table (default: on a terminal)", "Output"},
      {{"no_summary"}, Takes::nothing, "", "", "Output"},
      {{"list_apis"}, Takes::nothing, "--list-apis", "print the supported APIs", "Output"},
      {{"list_standards"}, Takes::nothing, "--list-standards", "print the precision standards and limits", "Output"},
      {{"version"}, Takes::nothing, "--version", "print the version", "Output"},
      {{"help", "h"}, Takes::nothing, "-h, --help", "print this text", "Output"},
  };
  return table;
}

std::string help_text() {
  std::string text =
      "msrun checks the precision of every API call recorded in a dump.json: it runs each on the device and, in "
      "higher\n"
      "precision, on the CPU, and writes the verdicts to two CSV files.\n"
      "\n"
      "Usage: msrun [COMMAND] -api_info DUMP.JSON [OPTIONS]\n"
      "\n"
      "Examples:\n"
      "  msrun -api_info ./dump/dump.json -o ./result -n 32 -d 0 1 2 3    32 threads on four devices\n"
      "  msrun -api_info ./dump/dump.json --only 'Functional.conv2d.*'    only these calls\n"
      "  msrun run_overflow_check -api_info ./dump/dump.json              whose output overflows, and where\n"
      "\n"
      "Commands:\n"
      "  multi_acc_check     several devices and threads; the default (also multi_run_ut)\n"
      "  acc_check           one device (also run_ut)\n"
      "  run_overflow_check  which calls overflow (Inf, NaN) on the device but not on the CPU; forwards only, printed\n"
      "                      line by line, with -o also in overflow_check_result_<time>.csv; takes -d, --only, -j\n"
      "  journal             what the journal of a run holds: counts, times, damage, results; see below\n";
  text += tool_commands_help();
  constexpr std::size_t column = 36;
  std::string_view group;
  for (const Flag& flag : flags()) {
    const std::string_view shown = flag.shown;
    if (shown.empty()) continue;
    if (group != flag.group) {
      group = flag.group;
      text += "\n" + std::string(group) + ":\n";
    }
    text += "  " + std::string(shown);
    text += shown.size() + 4 > column ? "\n" + std::string(column, ' ') : std::string(column - 2 - shown.size(), ' ');
    text += std::string(flag.help) + "\n";
  }
  text += "\n" + journal_help();
  text +=
      "\n"
      "Long options take one dash or two, and a value as \"-flag value\" or \"-flag=value\".\n"
      "Exit codes: 0 completed, 1 completed and --fail-on met, 2 wrong usage or input, 3 interrupted (can be "
      "continued\n"
      "with -csv_path), 4 internal error.\n";
  return text;
}

namespace {

std::string with_hyphens(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

const std::string& canonical_name(const Flag& flag) { return flag.spellings.front(); }

const Flag* find_flag(std::string_view name, bool single_dash) {
  const std::string wanted = with_hyphens(name);
  for (const Flag& flag : flags()) {
    for (const std::string& spelling : flag.spellings) {
      if (spelling.size() == 1 && !single_dash) continue;
      if (with_hyphens(spelling) == wanted) return &flag;
    }
  }
  return nullptr;
}

const Flag& flag_named(std::string_view canonical) {
  const auto found =
      std::find_if(flags().begin(), flags().end(), [&](const Flag& flag) { return canonical_name(flag) == canonical; });
  return *found;
}

// The way a flag is written in messages: "-api_info", "-n", "--only".
std::string display_name(const Flag& flag) {
  const std::string_view shown = flag.shown;
  if (shown.empty()) return "--" + with_hyphens(canonical_name(flag));
  return std::string(shown.substr(0, shown.find_first_of(", ")));
}

UserError unknown_option(std::string_view token, std::string_view name) {
  const std::string wanted = with_hyphens(name);
  int best_distance = std::max(2, static_cast<int>(wanted.size()) / 3) + 1;
  std::string best;
  for (const Flag& flag : flags()) {
    for (const std::string& spelling : flag.spellings) {
      if (spelling.size() == 1) continue;
      const std::string known = with_hyphens(spelling);
      // A beginning of a name is as near as one slip, whatever its length.
      const bool prefix = wanted.size() >= 3 && known.starts_with(wanted);
      const int distance = prefix ? 1 : edit_distance(wanted, known);
      if (distance >= best_distance) continue;
      best_distance = distance;
      const bool one_dash = std::string_view(flag.shown).starts_with("-" + spelling);
      best = one_dash ? "-" + spelling : "--" + (spelling.find('_') == std::string::npos ? known : spelling);
      if (std::string_view(flag.shown).find("--" + known) != std::string_view::npos) best = "--" + known;
    }
  }
  std::string text = "unknown option " + sanitised(token);
  text += best.empty() ? " (msrun -h lists all options)" : ", did you mean " + best + "?";
  return UserError(text);
}

bool looks_negative(std::string_view token) {
  return token.size() > 1 && token[0] == '-' && token[1] >= '0' && token[1] <= '9';
}

bool is_option(std::string_view token) { return token.size() > 1 && token[0] == '-' && !looks_negative(token); }

// Rewrites every accepted spelling to "--canonical", so that Boost sees each flag under one name.
std::vector<std::string> normalised(const std::vector<std::string>& words, Command command) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!is_option(word)) {
      tokens.emplace_back(word);
      continue;
    }
    const bool single_dash = word[1] != '-';
    const std::string_view body = word.substr(single_dash ? 1 : 2);
    const std::size_t equals = body.find('=');
    const std::string_view name = body.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = body.substr(equals + 1);

    const Flag* flag = find_flag(name, single_dash);
    const bool number_follows = body.size() > 1 && body.find_first_not_of("0123456789", 1) == std::string_view::npos;
    if (flag == nullptr && single_dash && number_follows) {  // -n32
      flag = find_flag(body.substr(0, 1), true);
      if (flag != nullptr && flag->takes == Takes::nothing) flag = nullptr;
      value = body.substr(1);
    }
    if (flag == nullptr) throw unknown_option(word, name);

    // run_overflow_check takes any text after -j for yes.
    if (command == Command::run_overflow_check && canonical_name(*flag) == "jit_compile") {
      if (!value && i + 1 < words.size() && !is_option(words[i + 1])) value = words[++i];
      if (!value || !value->empty()) tokens.push_back("--jit_compile");
      continue;
    }
    if (value && flag->takes == Takes::nothing) throw UserError(display_name(*flag) + " takes no value");
    const bool value_missing = !value && (i + 1 == words.size() || is_option(words[i + 1]));
    if (value_missing && flag->takes != Takes::nothing) throw UserError(display_name(*flag) + " needs a value");
    tokens.push_back("--" + canonical_name(*flag));
    if (value && value->empty()) {
      tokens.emplace_back();
    } else if (value) {
      tokens.back() += "=" + *value;
    }
  }
  return tokens;
}

po::options_description boost_description() {
  po::options_description description;
  for (const Flag& flag : flags()) {
    po::value_semantic* semantic = nullptr;
    switch (flag.takes) {
      case Takes::nothing:
        semantic = po::bool_switch();
        break;
      case Takes::one_value:
        semantic = po::value<std::string>();
        break;
      case Takes::values:
        semantic = po::value<std::vector<std::string>>()->multitoken();
        break;
      case Takes::one_value_each_time:
        semantic = po::value<std::vector<std::string>>()->composing();
        break;
    }
    description.add_options()(canonical_name(flag).c_str(), semantic);
  }
  return description;
}

po::variables_map boost_parse(const std::vector<std::string>& tokens) {
  const po::options_description description = boost_description();
  po::variables_map values;
  const auto bare = [](const po::error_with_option_name& error) {
    const std::string name = error.get_option_name();
    return display_name(flag_named(std::string_view(name).substr(std::min(name.size(), name.find_first_not_of('-')))));
  };
  try {
    using namespace po::command_line_style;
    const po::parsed_options parsed = po::command_line_parser(tokens)
                                          .options(description)
                                          .style(allow_long | long_allow_adjacent | long_allow_next)
                                          .run();
    for (const auto& option : parsed.options) {
      if (option.position_key >= 0) {
        throw UserError("unexpected argument " + shell_quoted(sanitised(option.value.empty() ? "" : option.value[0])));
      }
    }
    po::store(parsed, values);
  } catch (const po::multiple_occurrences& error) {
    throw UserError(bare(error) + " is given more than once");
  } catch (const po::error_with_option_name& error) {
    throw UserError(bare(error) + ": " + error.what());
  }
  return values;
}

}  // namespace

std::string display_name(std::string_view canonical) { return display_name(flag_named(canonical)); }

po::variables_map parse_flags(const std::vector<std::string>& words, Command command) {
  return boost_parse(normalised(words, command));
}

}  // namespace msrun
