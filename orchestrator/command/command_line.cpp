#include "orchestrator/command/command_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <span>
#include <utility>

#include "kernels/base/command_line/help.h"
#include "kernels/base/command_line/suggestion.h"
#include "kernels/base/counted.h"
#include "kernels/base/text.h"
#include "orchestrator/command/command_flags.h"
#include "orchestrator/command/command_word.h"
#include "orchestrator/command/end_options.h"
#include "orchestrator/command/framework_options.h"
#include "orchestrator/command/option_values.h"
#include "orchestrator/command/recorded_options.h"
#include "orchestrator/command/sharing_options.h"
#include "orchestrator/output/run_paths.h"
#include "runner/device/sim/sim.h"

namespace msrun {

namespace {

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
// Commands of msProbe that msrun does not have, and what stands for them; a sentence each.
struct ForeignCommand {
  std::string_view word;
  std::string_view instead;
};

constexpr auto foreign_commands = std::to_array<ForeignCommand>({
    {"merge_result",
     "msrun compare takes the folders above the ranks (-tp DIR -gp DIR), writes the rows of every rank, collectives "
     "included, and names the first divergence over all of them."},
    {"config_check", "it compares the settings of two trainings, which no recording holds."},
    {"data2db", "it fills the data base of msProbe's trend view; msrun graph writes .vis.db by itself."},
    {"offline_dump", "msrun reads recordings and runs no offline models."},
    {"install_deps", "msrun needs no Python packages of its own."},
});

constexpr std::uint32_t most_runs = 1000;  // of one call
constexpr std::string_view journal_word = "journal";
constexpr std::string_view merge_word = "merge";

constexpr std::string_view missing_input =
    "Please provide api_info_file for offline acc_check: msrun -api_info DUMP.JSON [-o DIR] [-n THREADS] [-d ID...]; "
    "msrun -h lists all options";

int parse_threads(const Arguments& arguments, Command command) {
  return arguments.number("num_splits", command == Command::acc_check ? 1 : 8, 1, max_threads);
}

void set_layout(const Arguments& arguments, Options& options) {
  enum class Compat : std::uint8_t { none, msprobe, att };
  const Compat compat = arguments.choice("compat", Compat::none, {{"msprobe", Compat::msprobe}, {"att", Compat::att}});
  const ReportLayout usual = compat == Compat::att ? ReportLayout::att : ReportLayout::current;
  options.layout = arguments.choice("layout", usual, {{"current", ReportLayout::current}, {"att", ReportLayout::att}});
  options.compat_msprobe = compat == Compat::msprobe;
  if (compat == Compat::att && options.layout == ReportLayout::current) {
    throw UserError("--compat att is that of --layout att");
  }
  if (compat == Compat::msprobe && options.layout == ReportLayout::att) {
    throw UserError("--compat msprobe does not go with --layout att, which has --compat att");
  }
  if (options.layout == ReportLayout::current) return;
  if (compat == Compat::att) options.layout = ReportLayout::att_raw;
  for (const char* name : {"standard", "limits", "titles"}) {
    if (!arguments.given(name)) continue;
    options.notices.push_back(arguments.shown(name) +
                              " has no effect on --layout att, which has one rule and one form.");
  }
}

// In the words of the older tool, whose two files go together.
void require_att_pair(const Options& options) {
  std::string missing;
  if (options.forward.empty()) missing = "-forward/--forward_input_file";
  if (options.backward.empty() && options.command != Command::run_overflow_check) {
    missing += std::string(missing.empty() ? "" : ", ") + "-backward/--backward_input_file";
  }
  if (!missing.empty()) throw UserError("error: the following arguments are required: " + missing);
}

void parse_input(const Arguments& arguments, Options& options) {
  options.api_info = arguments.text("api_info");
  options.forward = arguments.text("forward_input_file");
  options.backward = arguments.text("backward_input_file");
  options.real_data_path = arguments.text("real_data_path");
  if (options.prints_list()) return;
  if (options.api_info.empty() && options.forward.empty() && arguments.given("csv_path")) {
    const std::string csv_path = arguments.text("csv_path");
    const RunFiles files = resumed_run_files(csv_path);  // has its own words for what is not there
    require_readable_journal(files);
    throw UserError("-csv_path: no journal beside " + sanitised(csv_path) +
                    " says which dump it is of; give it with -api_info");
  }
  if (options.api_info.empty() && options.layout != ReportLayout::current) require_att_pair(options);
  if (options.api_info.empty() && options.forward.empty()) {
    throw UserError(options.backward.empty() ? std::string(missing_input) : "-backward needs -forward");
  }
  if (!options.api_info.empty()) {
    for (const char* other : {"forward_input_file", "backward_input_file", "real_data_path"}) {
      if (arguments.given(other)) throw UserError("-api_info and " + arguments.shown(other) + " exclude each other");
    }
  }
}

// Threads and devices as they will really be used, with a notice for each change of the request.
void fit_threads(Options& options) {
  auto& devices = options.devices;
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
                              counted(static_cast<std::size_t>(most), "thread") + " on " +
                              counted(devices.size(), "device") + ".");
    options.threads = most;
  }
  if (options.threads < static_cast<int>(devices.size())) {
    const auto used = static_cast<std::size_t>(options.threads);
    options.notices.push_back("-n " + std::to_string(used) + " is less than one thread per device: only the first " +
                              counted(used, "device") + " of the " + std::to_string(devices.size()) + " given " +
                              (used == 1 ? "runs." : "run."));
    devices.resize(used);
  }
  for (const int device : devices) {
    if (device <= last_usual_device) continue;
    options.notices.push_back("-d: device id " + std::to_string(device) + " is above 0 to " +
                              std::to_string(last_usual_device) + ", the ids of a host with eight devices.");
  }
}

// Every device needs a thread, and which of them a call is compared with must not depend on how they are written down.
void fit_same_on_all(Options& options) {
  if (options.command != Command::multi_acc_check || options.devices.size() < 2) {
    throw UserError("--same-on-all needs two or more devices (-d 0 1) and multi_acc_check, which runs on several");
  }
  std::ranges::sort(options.devices);
  const int devices = static_cast<int>(options.devices.size());
  if (options.threads >= devices) return;
  options.notices.push_back("-n " + std::to_string(options.threads) +
                            " is less than one thread per device: running "
                            "with " +
                            std::to_string(devices) + " threads, as --same-on-all needs every device.");
  options.threads = devices;
}

// msProbe takes any text after -j for yes but an empty one; whoever writes a no means it.
void parse_jit(const Arguments& arguments, Options& options) {
  if (!arguments.given("jit_compile")) return;
  const std::string text = arguments.text("jit_compile", "yes");
  std::string word = text;
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto is_one_of = [&word](std::initializer_list<const char*> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  options.jit_compile = is_one_of({"yes", "y", "true", "on", "1"});
  if (options.jit_compile || text.empty()) return;
  if (!is_one_of({"no", "n", "false", "off", "0"})) {
    throw UserError(arguments.shown("jit_compile") + " takes YES or NO, not " + text);
  }
  options.notices.push_back(arguments.shown("jit_compile") + " " + text +
                            " leaves the compile mode off; for msProbe it would be on, as for any text.");
}

// Only forwards are run, in the recorded dtypes, and nothing is kept to be continued.
void refuse_other_than_overflow_check(const Arguments& arguments) {
  for (const char* name :
       {"csv_path",   "retry_skip", "durability",   "filter_api",    "config_path", "save_error_data",
        "num_splits", "standard",   "limits",       "benchmark",     "titles",      "summary",
        "no_summary", "report",     "no_report",    "repeat",        "same_on_all", "across_ranks",
        "shard",      "steal",      "leases",       "lease_timeout", "last_failed", "max_failures",
        "dry_run",    "junit",      "junit_status", "durations",     "recorded_on"}) {
    if (arguments.given(name)) throw UserError("run_overflow_check takes no " + arguments.shown(name));
  }
}

void fit_overflow_check(Options& options) {
  if (options.fail_on == FailOn::unsteady) throw UserError("run_overflow_check takes no --fail-on unsteady");
  if (options.backward.empty() || options.layout != ReportLayout::current) return;
  options.notices.push_back("run_overflow_check runs forwards only: " + options.backward + " is not read.");
  options.backward.clear();
}

// The patterns of all values of an option. A comma between brackets belongs to its pattern.
std::vector<std::string> parse_patterns(const Arguments& arguments, std::string_view name) {
  std::vector<std::string> patterns;
  for (const std::string& value : arguments.texts(name)) {
    std::string pattern;
    std::size_t bracket_end = 0;
    const auto take = [&] {
      pattern.erase(0, pattern.find_first_not_of(' '));
      pattern.erase(pattern.find_last_not_of(' ') + 1);
      if (pattern.empty()) throw arguments.wrong(name, value, "takes patterns of names, separated by commas");
      patterns.push_back(std::exchange(pattern, {}));
    };
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::size_t end = value[i] == '[' && i >= bracket_end ? value.find(']', i + 2) : std::string::npos;
      if (end != std::string::npos) bracket_end = end;
      if (value[i] == ',' && i >= bracket_end) {
        take();
      } else {
        pattern += value[i];
      }
    }
    take();
  }
  return patterns;
}

void set_selection(const Arguments& arguments, Options& options) {
  options.config_path = arguments.text("config_path");
  options.csv_path = arguments.text("csv_path");
  options.retry_skip = arguments.given("retry_skip");
  if (options.retry_skip && options.csv_path.empty()) throw UserError("--retry-skip needs -csv_path");
  options.only = parse_patterns(arguments, "only");
  options.except = parse_patterns(arguments, "except");
  options.allow_outside_data = arguments.given("allow_outside_data");
  options.filter_compat = arguments.given("filter_compat");
  options.filter_api = arguments.given("filter_api");
  options.across_ranks =
      arguments.choice("across_ranks", AcrossRanks::calls,
                       {{"calls", AcrossRanks::calls}, {"values", AcrossRanks::values}, {"off", AcrossRanks::off}});
  if (options.filter_compat && !options.filter_api) throw UserError("--filter-compat needs -f");
}

void set_output(const Arguments& arguments, Options& options) {
  options.out_path = arguments.text("out_path");
  options.out_path_given = !options.out_path.empty();
  if (options.out_path.empty()) options.out_path = "./";
  options.save_error_data = arguments.given("save_error_data");
  options.english_titles = arguments.choice("titles", false, {{"zh", false}, {"cn", false}, {"en", true}});
  options.message_format = arguments.choice(
      "message_format", MessageFormat::human,
      {{"human", MessageFormat::human}, {"json", MessageFormat::json}, {"github", MessageFormat::github}});
  options.colour =
      arguments.choice("color", ColourMode::automatic,
                       {{"auto", ColourMode::automatic}, {"always", ColourMode::always}, {"never", ColourMode::never}});
  if (arguments.given("summary") && arguments.given("no_summary")) {
    throw UserError("--summary and --no-summary exclude each other");
  }
  if (arguments.given("summary")) options.summary = true;
  if (arguments.given("no_summary")) options.summary = false;
  if (arguments.given("report") && arguments.given("no_report")) {
    throw UserError("--report and --no-report exclude each other");
  }
  if (arguments.given("report")) options.report = true;
  if (arguments.given("no_report")) options.report = false;
}

void set_running(const Arguments& arguments, Options& options) {
  options.devices = parse_devices(arguments, options.layout);
  options.threads = parse_threads(arguments, options.command);
  options.repeat = arguments.number<std::uint32_t>("repeat", 1, 1, most_runs, "a whole number");
  options.same_on_all = arguments.given("same_on_all");
  if (options.same_on_all) fit_same_on_all(options);
  if (options.fail_on == FailOn::unsteady && options.repeat == 1 && !options.same_on_all) {
    throw UserError("--fail-on unsteady needs --repeat N or --same-on-all: otherwise every call runs once");
  }
  fit_threads(options);
  parse_backend(arguments, options);
  options.recorded_on =
      arguments.choice<std::string>("recorded_on", "", {{"npu", "npu"}, {"cuda", "cuda"}, {"cpu", "cpu"}});
  options.sim_faults = arguments.texts("sim_fault");
  for (const std::string& fault : options.sim_faults) options.apart.push_back(parse_sim_fault(fault).pattern);
  if (!options.sim_faults.empty() && options.backend == "auto") options.backend = "sim";
  if (!options.sim_faults.empty() && options.backend != "sim") throw UserError("--sim-fault needs --backend sim");
  options.python = arguments.text("python");
  options.torch_lanes = arguments.number<std::size_t>("torch_lanes", options.torch_lanes, 1, 64, "a whole number");
  options.torch_workers = arguments.number<std::size_t>("torch_workers", options.torch_workers, 1, 8, "a whole number");
  options.require_device = arguments.given("require_device");
  parse_jit(arguments, options);
  if (arguments.given("seed")) {
    const auto seed = parse_number<std::uint64_t>(arguments.text("seed"));
    if (!seed)
      throw arguments.wrong("seed", arguments.text("seed"), "must be a whole number, 0 to 18446744073709551615");
    options.seed = *seed;
  }
  options.seed_mode =
      arguments.choice("seed_mode", SeedMode::per_api, {{"per-api", SeedMode::per_api}, {"stream", SeedMode::stream}});
  options.task_timeout = parse_timeout(arguments);
  constexpr std::uint32_t most = 100;
  options.retries = arguments.number<std::uint32_t>("retries", options.retries, 0, most, "a whole number");
  options.max_device_failures =
      arguments.number<std::uint32_t>("max_device_failures", options.max_device_failures, 1, most, "a whole number");
  options.memory = parse_memory(arguments);
  options.core_dumps = arguments.given("core_dumps");
  options.near_device = arguments.choice("affinity", true, {{"auto", true}, {"none", false}});
  options.durability = arguments.choice("durability", Durability::process,
                                        {{"process", Durability::process}, {"power", Durability::power}});
}

Options options_from(const Arguments& arguments, Command command, std::string framework) {
  Options options;
  options.command = command;
  options.framework = std::move(framework);
  options.list_apis = arguments.given("list_apis");
  options.list_standards = arguments.given("list_standards");
  options.list_judgement = arguments.given("list_judgement");
  options.list_devices = arguments.given("list_devices");
  options.list_faults = arguments.given("list_faults");
  options.json_lists = arguments.given("json");
  if (options.json_lists && !options.prints_list()) {
    throw UserError(
        "--json goes with --list-apis, --list-standards, --list-judgement, --list-devices or --list-faults; "
        "events of a run: --message-format json");
  }
  // Before anything is looked for that belongs to these options.
  if (command == Command::run_overflow_check) refuse_other_than_overflow_check(arguments);
  set_layout(arguments, options);
  parse_input(arguments, options);
  set_selection(arguments, options);
  set_output(arguments, options);
  options.fail_on = arguments.choice("fail_on", FailOn::never,
                                     {{"error", FailOn::error},
                                      {"warning", FailOn::warning},
                                      {"suspicious", FailOn::suspicious},
                                      {"skip", FailOn::skip},
                                      {"unsteady", FailOn::unsteady}});
  if (command == Command::run_overflow_check) fit_overflow_check(options);
  set_running(arguments, options);
  set_sharing(arguments, environment_of_process, options);
  set_ends(arguments, options);
  options.standard =
      arguments.choice("standard", Policy::per_api, {{"per_api", Policy::per_api}, {"current", Policy::current}});
  options.limits =
      arguments.choice("limits", Limits::current, {{"current", Limits::current}, {"documented", Limits::documented}});
  options.sampled_work = parse_benchmark(arguments, options);
  options.max_abs_error = parse_max_abs_error(arguments);
  options.given_for_some = given_for_some(arguments);
  return options;
}

[[noreturn]] void refuse_command(const std::string& word) {
  for (const ForeignCommand& foreign : foreign_commands) {
    if (word == foreign.word) throw UserError(word + " is msProbe's alone: " + std::string(foreign.instead));
  }
  std::string text = "unknown command " + shell_quoted(sanitised(word));
  if (may_name_input(word)) throw UserError(text + ", did you mean -api_info " + shell_quoted(sanitised(word)) + "?");
  std::vector<std::string> known;    // what may have been meant, and
  std::vector<std::string> written;  // the command that it is
  const auto add = [&](std::string_view name, std::string_view command) {
    known.emplace_back(name);
    written.emplace_back(command);
  };
  for (const CommandName& command : command_names) add(command.name, command.name);
  add(journal_word, journal_word);
  add(merge_word, merge_word);
  add("help", "help");
  for (const ToolCommand& tool : tool_commands()) {
    add(tool.word, tool.word);
    add(tool.executable, tool.word);
    if (*tool.alias != '\0') add(tool.alias, tool.alias);
  }
  if (const auto nearest = nearest_word(word, known))
    throw UserError(text + ", did you mean " + written[*nearest] + "?");
  text += ": the commands are multi_acc_check, acc_check, run_overflow_check, journal, merge";
  for (const ToolCommand& tool : tool_commands()) {
    if (*tool.mode == '\0') text += ", " + std::string(tool.word);
  }
  throw UserError(text);
}

// Takes the sub-command off the words; without one the plain form means multi_acc_check.
Command take_command(std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with('-')) return Command::multi_acc_check;
  const auto found = std::ranges::find(command_names, std::string_view(words[0]), &CommandName::name);
  if (found == command_names.end()) refuse_command(words[0]);
  words.erase(words.begin());
  return found->command;
}

WordKind kind_of_word(const std::vector<std::string>& words, std::size_t place) {
  const std::string_view word = words[place];
  if (std::ranges::find(command_names, word, &CommandName::name) != command_names.end()) return WordKind::command;
  const bool is_tool = find_tool(word, std::span<const std::string>(words).subspan(place + 1)) != nullptr;
  return is_tool || word == journal_word ? WordKind::program : WordKind::none;
}

// The tool that the first word, or the first behind "-f FRAMEWORK", names; what follows is for the tool to read.
std::optional<ToolRequest> tool_request(std::vector<std::string> words) {
  const bool framework = words.size() > 2 && words[0] == "-f" && !words[1].starts_with('-');
  const std::size_t at = framework ? 2 : 0;
  const ToolCommand* tool =
      at < words.size() ? find_tool(words[at], std::span<const std::string>(words).subspan(at + 1)) : nullptr;
  if (tool == nullptr) return std::nullopt;
  const std::string named = take_framework(words);
  ToolRequest request{tool, {words.begin() + 1, words.end()}};
  if (tool->told_framework && !named.empty()) {
    request.arguments.insert(request.arguments.begin(), {"--framework", named});
  }
  return request;
}

// "help COMMAND" is "COMMAND --help", and "help" alone "--help".
void replace_help_word(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "help") return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

}  // namespace

bool wants_report(const Options& options) {
  const bool has_own_files = options.layout == ReportLayout::current && !options.compat_msprobe;
  const bool is_part = options.shard.has_value() || options.steal;
  return options.report.value_or(has_own_files && !is_part);
}

ParsedCommandLine parse_command_line(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  replace_help_word(words);
  if (const std::optional<ToolRequest> tool = tool_request(words)) return *tool;
  std::string framework = take_framework(words);
  put_command_first(words, check_description(Command::multi_acc_check),
                    [&](std::size_t place) { return kind_of_word(words, place); });
  if (!words.empty() && words[0] == journal_word) {
    auto journal = parse_journal_options({words.begin() + 1, words.end()});
    return std::visit([](auto& parsed) -> ParsedCommandLine { return std::move(parsed); }, journal);
  }
  const bool has_path = argc > 0 && std::string_view(argv[0]).find('/') != std::string_view::npos;
  if (!words.empty() && words[0] == merge_word) {
    auto merge = parse_merge_options({words.begin() + 1, words.end()});
    if (auto* text = std::get_if<PrintAndExit>(&merge)) return std::move(*text);
    if (has_path) std::get<MergeOptions>(merge).program = argv[0];
    return std::get<MergeOptions>(std::move(merge));
  }
  const Command command = take_command(words);
  auto parsed = parse_arguments(check_description(command), words);
  if (auto* text = std::get_if<PrintAndExit>(&parsed)) return std::move(*text);
  TakenOver taken;
  if (command != Command::run_overflow_check && std::get<Arguments>(parsed).given("csv_path")) {
    taken = take_over(std::get<Arguments>(parsed));
    const std::vector<std::string> more = taken.words();
    words.insert(words.begin(), more.begin(), more.end());
    parsed = parse_arguments(check_description(command), words);
  }
  Options options = options_from(std::get<Arguments>(parsed), command, std::move(framework));
  for (const std::string& word : taken.words())
    options.taken_over += (options.taken_over.empty() ? "" : " ") + shell_quoted(sanitised(word));
  options.notices.insert(options.notices.end(), taken.notices.begin(), taken.notices.end());
  if (taken.has_journal) options.apart = taken.apart;
  // As it was started, so that what is printed to be run again can be; found through PATH it is a plain name.
  if (has_path) options.program = argv[0];
  return options;
}

}  // namespace msrun
