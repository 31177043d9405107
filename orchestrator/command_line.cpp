#include "orchestrator/command_line.h"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <set>

#include "orchestrator/text.h"

namespace msrun {

namespace po = boost::program_options;

namespace {

enum class Takes : std::uint8_t { nothing, one_value, values, one_value_each_time };

// One flag. The first spelling is the canonical name, under which Boost stores it. A spelling of one letter takes one
// dash, a longer one takes one or two, and '-' and '_' inside it are the same.
struct Flag {
  std::vector<std::string> spellings;
  Takes takes;
  const char* shown;  // left column of the help
  const char* help;
  const char* group;
};

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
      {{"real_data_path"}, Takes::one_value, "-real_data_path DIR", "directory above forward_real_data", "Input"},

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
       "limit for one call: 90, 90s, 5m, 1h, 0 for none (default 30m)",
       "Running"},
      {{"memory"},
       Takes::one_value,
       "--memory SIZE",
       "limit for all calls in flight: 2G, 512M, 50% of free (default 80%)",
       "Running"},
      {{"jit_compile", "j"}, Takes::nothing, "-j, --jit_compile", "let the NPU compile operators", "Running"},

      {{"standard"},
       Takes::one_value,
       "--standard POLICY",
       "per_api (default): the documented standard of each API; current: newest msProbe",
       "Judging"},
      {{"compat"}, Takes::one_value, "--compat msprobe", "reproduce msProbe's cells, known errors included", "Judging"},
      {{"fail_on"}, Takes::one_value, "--fail-on LEVEL", "exit code 1 if there is an error, or a warning", "Judging"},

      {{"out_path", "o"}, Takes::one_value, "-o, --out_path DIR", "directory of the CSV files (default ./)", "Output"},
      {{"save_error_data"}, Takes::nothing, "-save_error_data", "save tensors of calls that do not pass", "Output"},
      {{"titles"}, Takes::one_value, "--titles LANGUAGE", "column titles: cn (default) or en", "Output"},
      {{"message_format"},
       Takes::one_value,
       "--message-format FORMAT",
       "human (default) or json, one object per line",
       "Output"},
      {{"summary"}, Takes::nothing, "--summary, --no-summary", "closing table (default: on a terminal)", "Output"},
      {{"no_summary"}, Takes::nothing, "", "", "Output"},
      {{"list_apis"}, Takes::nothing, "--list-apis", "print the supported APIs", "Output"},
      {{"version"}, Takes::nothing, "--version", "print the version", "Output"},
      {{"help", "h"}, Takes::nothing, "-h, --help", "print this text", "Output"},
  };
  return table;
}

struct CommandName {
  std::string_view name;
  Command command;
};

constexpr std::array<CommandName, 5> command_names{{
    {"multi_acc_check", Command::multi_acc_check},
    {"acc_check", Command::acc_check},
    {"run_overflow_check", Command::run_overflow_check},
    {"multi_run_ut", Command::multi_acc_check},
    {"run_ut", Command::acc_check},
}};

constexpr std::string_view missing_input =
    "Please provide api_info_file for offline acc_check: msrun -api_info DUMP.JSON [-o DIR] [-n THREADS] [-d ID...]; "
    "msrun -h lists all options";

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
      "\n"
      "Commands:\n"
      "  multi_acc_check     several devices and threads; the default (also multi_run_ut)\n"
      "  acc_check           one device (also run_ut)\n"
      "  run_overflow_check  whether overflows on the device are also overflows on the CPU\n";
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
  text +=
      "\n"
      "Long options take one dash or two, and a value as \"-flag value\" or \"-flag=value\".\n"
      "Exit codes: 0 completed, 1 completed and --fail-on met, 2 wrong usage or input, 3 interrupted (can be "
      "continued\n"
      "with -csv_path), 4 internal error.\n";
  return text;
}

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

std::string display_name(std::string_view canonical) { return display_name(flag_named(canonical)); }

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
    return display_name(name.substr(std::min(name.size(), name.find_first_not_of('-'))));
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

// Typed access to the parsed flags; every error names the flag and the text it was given.
class Values {
 public:
  explicit Values(po::variables_map values) : values_(std::move(values)) {}

  bool given(const char* name) const {
    const po::variable_value& value = values_[name];
    if (value.empty()) return false;
    const bool* flag = boost::any_cast<bool>(&value.value());
    return flag == nullptr || *flag;
  }

  std::string text(const char* name, std::string fallback = {}) const {
    return given(name) ? values_[name].as<std::string>() : std::move(fallback);
  }

  std::vector<std::string> texts(const char* name) const {
    return given(name) ? values_[name].as<std::vector<std::string>>() : std::vector<std::string>{};
  }

  template <class T>
  T choice(const char* name, T fallback, std::initializer_list<std::pair<const char*, T>> choices) const {
    if (!given(name)) return fallback;
    const std::string given_text = text(name);
    std::string known;
    for (const auto& [spelling, value] : choices) {
      if (given_text == spelling) return value;
      known += (known.empty() ? "" : ", ") + std::string(spelling);
    }
    throw wrong(name, given_text, choices.size() == 1 ? "must be " + known : "must be one of " + known);
  }

  static UserError wrong(const char* name, std::string_view given_text, const std::string& rule) {
    return UserError(display_name(name) + " " + rule + ", not " + shell_quoted(sanitised(given_text)));
  }

 private:
  po::variables_map values_;
};

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int parse_threads(const Values& values, Command command) {
  const std::string text = values.text("num_splits", command == Command::acc_check ? "1" : "8");
  const auto threads = parse_number<int>(text);
  if (!threads || *threads < 1 || *threads > max_threads) {
    throw Values::wrong("num_splits", text, "must be a number from 1 to " + std::to_string(max_threads));
  }
  return *threads;
}

std::vector<int> parse_devices(const Values& values) {
  if (!values.given("device")) return {0};
  std::vector<int> devices;
  for (const std::string& word : values.texts("device")) {
    for (std::size_t begin = 0; begin <= word.size();) {  // "0,1,2" is accepted as well
      const std::size_t end = std::min(word.size(), word.find(',', begin));
      const std::string text = word.substr(begin, end - begin);
      begin = end + 1;
      const auto id = parse_number<int>(text);
      if (!id) throw Values::wrong("device", text, "takes device ids from 0 to 7");
      if (*id < 0) throw UserError("-d: device id must be greater than or equal to 0, not " + text);
      if (*id >= max_devices) throw Values::wrong("device", text, "takes device ids from 0 to 7");
      if (std::find(devices.begin(), devices.end(), *id) != devices.end()) {
        throw UserError("-d: device id must be unique, " + text + " is given more than once");
      }
      devices.push_back(*id);
    }
  }
  return devices;
}

double parse_timeout(const Values& values, double fallback) {
  if (!values.given("task_timeout")) return fallback;
  const std::string text = values.text("task_timeout");
  std::string_view number = text;
  double unit = 1;
  if (!number.empty()) {
    switch (number.back()) {
      case 's':
        unit = 1;
        break;
      case 'm':
        unit = 60;
        break;
      case 'h':
        unit = 3600;
        break;
      default:
        unit = 0;
    }
    if (unit > 0) number.remove_suffix(1);
  }
  const auto seconds = parse_number<double>(number);
  if (!seconds || !(*seconds >= 0) || *seconds > 1e8) {
    throw Values::wrong("task_timeout", text, "must be a time such as 90, 90s, 5m or 1h, or 0 for none");
  }
  return *seconds * (unit > 0 ? unit : 1);
}

MemoryLimit parse_memory(const Values& values) {
  if (!values.given("memory")) return {};
  const std::string text = values.text("memory");
  const auto wrong = [&] {
    return Values::wrong("memory", text, "must be a size such as 2G or 512M, or a share of free memory such as 50%");
  };
  std::string_view number = text;
  if (number.ends_with('%')) {
    number.remove_suffix(1);
    const auto percent = parse_number<double>(number);
    if (!percent || !(*percent > 0) || *percent > 100) throw wrong();
    return {0, *percent / 100};
  }
  if (number.ends_with("iB")) {
    number.remove_suffix(2);
  } else if (number.ends_with('B')) {
    number.remove_suffix(1);
  }
  double unit = 1;
  constexpr std::string_view letters = "KMGT";
  const std::size_t power = number.empty() ? std::string_view::npos : letters.find(number.back());
  if (power != std::string_view::npos) {
    unit = std::pow(1024.0, static_cast<double>(power + 1));
    number.remove_suffix(1);
  }
  const auto size = parse_number<double>(number);
  if (!size || !(*size * unit >= 1) || *size * unit > 1e18) throw wrong();
  return {static_cast<std::uint64_t>(*size * unit), 0.8};
}

void parse_backend(const Values& values, Options& options) {
  const std::string text = values.text("backend", "auto");
  const std::set<std::string> known{"auto", "sim", "recorded", "torch", "torch:cpu", "torch:cuda", "torch:npu"};
  if (!known.contains(text)) {
    throw Values::wrong("backend", text, "must be one of auto, sim, recorded, torch, torch:cpu, torch:cuda, torch:npu");
  }
  const std::size_t colon = text.find(':');
  options.backend = text.substr(0, colon);
  if (colon != std::string::npos) options.torch_device = text.substr(colon + 1);
}

void parse_input(const Values& values, Options& options) {
  options.api_info = values.text("api_info");
  options.forward = values.text("forward_input_file");
  options.backward = values.text("backward_input_file");
  options.real_data_path = values.text("real_data_path");
  if (options.list_apis) return;
  if (options.api_info.empty() && options.forward.empty()) {
    throw UserError(options.backward.empty() ? std::string(missing_input) : "-backward needs -forward");
  }
  if (!options.api_info.empty()) {
    for (const char* other : {"forward_input_file", "backward_input_file", "real_data_path"}) {
      if (values.given(other)) throw UserError("-api_info and " + display_name(other) + " exclude each other");
    }
  }
}

// Threads and devices as they will really be used, with a notice for each change of the request.
void fit_threads(Options& options) {
  auto& devices = options.devices;
  const auto count = [](std::size_t n, const char* noun) {
    return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
  };
  if (options.command != Command::multi_acc_check && devices.size() > 1) {
    const char* name = options.command == Command::acc_check ? "acc_check" : "run_overflow_check";
    options.notices.push_back(std::string(name) + " uses one device: only device " + std::to_string(devices[0]) +
                              " of the " + std::to_string(devices.size()) + " given runs.");
    devices.resize(1);
  }
  const int most = max_threads_per_device * static_cast<int>(devices.size());
  if (options.threads > most) {
    options.notices.push_back("-n " + std::to_string(options.threads) + " is more than " +
                              std::to_string(max_threads_per_device) + " threads per device: running with " +
                              count(static_cast<std::size_t>(most), "thread") + " on " +
                              count(devices.size(), "device") + ".");
    options.threads = most;
  }
  if (options.threads < static_cast<int>(devices.size())) {
    const auto used = static_cast<std::size_t>(options.threads);
    options.notices.push_back("-n " + std::to_string(used) + " is less than one thread per device: only the first " +
                              count(used, "device") + " of the " + std::to_string(devices.size()) + " given " +
                              (used == 1 ? "runs." : "run."));
    devices.resize(used);
  }
}

void reject_for_overflow_check(const Values& values) {
  for (const char* name : {"csv_path", "filter_api", "config_path", "save_error_data", "num_splits"}) {
    if (values.given(name)) throw UserError("run_overflow_check takes no " + display_name(name));
  }
}

Options options_from(const Values& values, Command command, std::string framework) {
  Options options;
  options.command = command;
  options.framework = std::move(framework);
  options.list_apis = values.given("list_apis");
  parse_input(values, options);
  options.config_path = values.text("config_path");
  options.csv_path = values.text("csv_path");
  options.only = values.texts("only");
  options.filter_compat = values.given("filter_compat");
  options.filter_api = values.given("filter_api");
  if (options.filter_compat && !options.filter_api) throw UserError("--filter-compat needs -f");

  options.out_path = values.text("out_path");
  if (options.out_path.empty()) options.out_path = "./";
  options.save_error_data = values.given("save_error_data");
  options.english_titles = values.choice("titles", false, {{"cn", false}, {"en", true}});
  options.message_format = values.choice("message_format", MessageFormat::human,
                                         {{"human", MessageFormat::human}, {"json", MessageFormat::json}});
  if (values.given("summary") && values.given("no_summary")) {
    throw UserError("--summary and --no-summary exclude each other");
  }
  if (values.given("summary")) options.summary = true;
  if (values.given("no_summary")) options.summary = false;
  options.fail_on = values.choice("fail_on", FailOn::never, {{"error", FailOn::error}, {"warning", FailOn::warning}});

  if (command == Command::run_overflow_check) reject_for_overflow_check(values);
  options.devices = parse_devices(values);
  options.threads = parse_threads(values, command);
  fit_threads(options);
  parse_backend(values, options);
  options.sim_faults = values.texts("sim_fault");
  if (!options.sim_faults.empty() && options.backend == "auto") options.backend = "sim";
  if (!options.sim_faults.empty() && options.backend != "sim") throw UserError("--sim-fault needs --backend sim");
  options.jit_compile = values.given("jit_compile");
  if (values.given("seed")) {
    const auto seed = parse_number<std::uint64_t>(values.text("seed"));
    if (!seed) throw Values::wrong("seed", values.text("seed"), "must be a whole number of at least 0");
    options.seed = *seed;
  }
  options.seed_mode =
      values.choice("seed_mode", SeedMode::per_api, {{"per-api", SeedMode::per_api}, {"stream", SeedMode::stream}});
  options.task_timeout = parse_timeout(values, options.task_timeout);
  options.memory = parse_memory(values);

  options.standard = values.choice("standard", StandardPolicy::per_api,
                                   {{"per_api", StandardPolicy::per_api}, {"current", StandardPolicy::current}});
  options.compat_msprobe = values.choice("compat", false, {{"msprobe", true}});
  return options;
}

// Takes a leading "-f pytorch" off the words.
std::string take_framework(std::vector<std::string>& words) {
  if (words.size() < 2 || words[0] != "-f" || words[1].starts_with('-')) return {};
  std::string framework = words[1];
  std::transform(framework.begin(), framework.end(), framework.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::set<std::string> known{"pytorch", "pt", "mindspore", "ms", "mindtorch"};
  if (!known.contains(framework)) {
    throw UserError("-f before the command names the framework: pytorch or mindspore, not " +
                    shell_quoted(sanitised(words[1])));
  }
  words.erase(words.begin(), words.begin() + 2);
  return framework;
}

// Takes the sub-command off the words; without one the plain form means multi_acc_check.
Command take_command(std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with('-')) return Command::multi_acc_check;
  const std::string word = words[0];
  const auto found =
      std::find_if(command_names.begin(), command_names.end(), [&](const CommandName& c) { return c.name == word; });
  if (found == command_names.end()) {
    std::string text = "unknown command " + shell_quoted(sanitised(word));
    if (word.ends_with(".json")) {
      text += ", did you mean -api_info " + shell_quoted(sanitised(word)) + "?";
    } else {
      text += ": the commands are multi_acc_check, acc_check and run_overflow_check";
    }
    throw UserError(text);
  }
  words.erase(words.begin());
  return found->command;
}

std::string number_text(double value) {
  std::array<char, 64> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

// Words of a command line that is built up flag by flag.
class Words {
 public:
  void add(const char* flag) { line_ += std::string(" ") + flag; }

  // A value that begins with a dash is tied to its flag, so that it is not read as a flag itself.
  void add(const char* flag, const std::string& value) {
    add(flag);
    line_ += (value.starts_with('-') ? "=" : " ") + shell_quoted(value);
  }

  void add_if_given(const char* flag, const std::string& value) {
    if (!value.empty()) add(flag, value);
  }

  void add_each(const char* flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(flag, value);
  }

  std::string line() const { return line_; }

 private:
  std::string line_ = "msrun";
};

// What is checked, on what, and how it is judged.
void add_words_of_results(const Options& options, Words& words) {
  const Options defaults;
  words.add_if_given("-api_info", options.api_info);
  words.add_if_given("-forward", options.forward);
  words.add_if_given("-backward", options.backward);
  words.add_if_given("-real_data_path", options.real_data_path);
  if (options.backend != defaults.backend) {
    words.add("--backend", options.backend + (options.torch_device.empty() ? "" : ":" + options.torch_device));
  }
  words.add_each("--sim-fault", options.sim_faults);
  if (options.jit_compile) words.add("-j");
  if (options.seed != defaults.seed) words.add("--seed", std::to_string(options.seed));
  if (options.seed_mode == SeedMode::stream) words.add("--seed-mode", "stream");
  if (options.standard == StandardPolicy::current) words.add("--standard", "current");
  if (options.compat_msprobe) words.add("--compat", "msprobe");
}

}  // namespace

ParsedCommandLine parse_command_line(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (const std::string& word : words) {
    if (word == "-h" || word == "--help" || word == "-help") return PrintAndExit{help_text()};
    if (word == "--version" || word == "-version") return PrintAndExit{"msrun " MSRUN_VERSION "\n"};
  }
  std::string framework = take_framework(words);
  const Command command = take_command(words);
  return options_from(Values(boost_parse(normalised(words, command))), command, std::move(framework));
}

std::string reproduce_command(const Options& options) {
  Words words;
  add_words_of_results(options, words);
  return words.line();
}

std::string resume_command(const Options& options, std::string_view csv_path) {
  Words words;
  const Options defaults;
  if (options.command == Command::acc_check) words.add("acc_check");
  add_words_of_results(options, words);
  words.add_if_given("-config", options.config_path);
  words.add_each("--only", options.only);
  if (options.filter_api) words.add("-f");
  if (options.filter_compat) words.add("--filter-compat");
  if (options.save_error_data) words.add("-save_error_data");
  if (options.out_path != defaults.out_path) words.add("-o", options.out_path);
  if (options.english_titles) words.add("--titles", "en");
  if (options.message_format == MessageFormat::json) words.add("--message-format", "json");
  if (options.summary) words.add(*options.summary ? "--summary" : "--no-summary");
  if (options.fail_on != FailOn::never) words.add("--fail-on", options.fail_on == FailOn::error ? "error" : "warning");
  words.add("-n", std::to_string(options.threads));
  words.add("-d");
  for (const int device : options.devices) words.add(std::to_string(device).c_str());
  if (options.task_timeout != defaults.task_timeout) words.add("--task-timeout", number_text(options.task_timeout));
  if (options.memory.bytes != 0) {
    words.add("--memory", std::to_string(options.memory.bytes));
  } else if (options.memory.share != defaults.memory.share) {
    words.add("--memory", number_text(options.memory.share * 100) + "%");
  }
  words.add("-csv_path", std::string(csv_path));
  return words.line();
}

}  // namespace msrun
