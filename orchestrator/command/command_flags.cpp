#include "orchestrator/command/command_flags.h"

#include <array>

#include "orchestrator/command/tool_commands.h"
#include "runner/device/backends/backends.h"

namespace msrun {

namespace {

constexpr auto input = std::to_array<Option>({
    {"-api_info, --api_info_file PATH", "dump.json to check, or a folder: every dump.json below it, those of all ranks",
     Takes::one_value},
    {"-config, --config_path FILE", "config.json or config.yaml with white_list, black_list, error_data_path",
     Takes::one_value},
    {"-csv_path, --result_csv_path FILE",
     "continue the run that wrote this result CSV; what is not given is taken from its journal", Takes::one_value},
    {"--retry-skip", "with -csv_path: run again what was SKIP, except by rule"},
    {"-f, --filter_api", "check calls that differ only in values once"},
    {"--last-failed", "check only what the last run in -o found suspicious, could not run or did not come to"},
    {"--only GLOBS", "check only calls such as 'Torch.matmul.*,Tensor.add.0', of one rank 'rank3:Torch.*'; repeatable",
     Takes::one_value_each_time},
    {"--except GLOBS", "leave out calls whose name matches; repeatable", Takes::one_value_each_time},
    {"--across-ranks MODE",
     "of a folder, check once the calls that ranks have in common: calls (default), whatever the statistics of their "
     "tensors; values, with equal ones; off: every call of every rank",
     Takes::one_value},
    {"--filter-compat", "with -f: msProbe's rule for equal calls"},
    {"-forward, --forward_input_file FILE", "forward_info of the older recorder, in place of -api_info",
     Takes::one_value},
    {"-backward, --backward_input_file FILE", "backward_info that belongs to it", Takes::one_value},
    {"-real_data_path DIR", "directory above forward_real_data (default: of -forward)", Takes::one_value},
    {"--allow-outside-data", "read tensor files that the dump names outside of its folder, too"},
});

constexpr auto running = std::to_array<Option>({
    {"-d, --device ID...", "distinct device ids (default 0); above 7 with a notice", Takes::values},
    {"-n, --num_splits N", "threads, 1..64, at most eight per device (default 8; acc_check 1)", Takes::one_value},
    {"--backend NAME",
     "auto, sim, recorded, torch or mindspore (:cpu, :cuda, :npu), plugin:FILE; auto (default): an NPU, else a GPU, "
     "else recorded for a dump with tensors, else sim",
     Takes::one_value},
    {"--recorded-on DEVICE",
     "what made the results of --backend recorded: npu, cuda or cpu (default: what the recording says, else one of the "
     "first two); only a CPU adds in half types",
     Takes::one_value},
    {"--python FILE", "Python of torch and mindspore (default: MSRUN_PYTHON, else python3)", Takes::one_value},
    {"--torch-lanes N", "calls that a worker (torch, mindspore) runs at a time, 1..64 (default 2)", Takes::one_value},
    {"--torch-workers N", "workers (torch, mindspore) for each device, 1..8 (default 1)", Takes::one_value},
    {"--require-device", "exit code 2 unless an NPU or GPU is tested"},
    {"--sim-fault FAULT", "fault of the sim backend for calls that match, PATTERN=FAULT (--list-faults); repeatable",
     Takes::one_value_each_time},
    {"--seed N", "seed of generated inputs (default 1234; MindSpore dumps 42)", Takes::one_value},
    {"--seed-mode MODE", "per-api (default): inputs depend on the call alone; stream: torch's one stream",
     Takes::one_value},
    {"--task-timeout TIME", "limit for one call: 90, 90s, 5m, 1h, 0 for none (default: by its cost, at least 5m)",
     Takes::one_value},
    {"--retries N", "retries of a call whose runner died (default 2)", Takes::one_value},
    {"--max-device-failures N", "deaths of an idle runner before its device is given up (default 3)", Takes::one_value},
    {"--repeat N", "run every call N times on its device, 1..1000: the bits must be the same each time (default 1)",
     Takes::one_value},
    {"--same-on-all", "run every call on all devices of -d: the bits must be the same on each"},
    {"--shard K/N",
     "check part K of N (1..N), dealt by cost, the same on every host; env: which one by mpirun, srun or RANK; msrun "
     "merge makes one of all",
     Takes::one_value},
    {"--steal", "share the calls with all processes that are started with the same line and folder -o, as they come"},
    {"--leases N", "with --steal: pieces that the calls are dealt to, 1..9999 (default: 16 calls each, at most 256)",
     Takes::one_value},
    {"--lease-timeout SECONDS", "with --steal: silence after which a piece is taken from its holder (default 60)",
     Takes::one_value},
    {"--max-failures N",
     "stop once N calls are suspicious or failed to run and those have ended that have begun by then, which may be "
     "further ones; the run can be continued (default: never)",
     Takes::one_value},
    {"--dry-run", "say what would run, for how long and in how much memory, and end; nothing is written"},
    {"--memory SIZE", "limit for all calls in flight: 2G, 512M or, of free memory, 50% (default 80%)",
     Takes::one_value},
    {"--affinity HOW",
     "auto (default): the threads of an NPU or GPU stay on its NUMA node, where there are several; none: anywhere",
     Takes::one_value},
    {"--core-dumps", "a crash of a runner leaves a core dump where the system puts them (default: none)"},
    {"--durability LEVEL", "results survive: process (default) any crash; power also a power loss, after 1 s",
     Takes::one_value},
});

// run_overflow_check takes any text after -j for yes.
constexpr auto jit_of_check = std::to_array<Option>(
    {{"-j, --jit_compile", "let the NPU compile operators; run_overflow_check takes -j YES too"}});
constexpr auto jit_of_overflow_check =
    std::to_array<Option>({{"-j, --jit_compile [YES|NO]", "let the NPU compile operators", Takes::optional_value}});

constexpr auto judging = std::to_array<Option>({
    {"--standard POLICY", "per_api (default): the documented standard of each API; current: newest msProbe",
     Takes::one_value},
    {"--limits LIMITS", "constants of small values: current (default), those of the tool in use, or documented",
     Takes::one_value},
    {"--benchmark HOW",
     "full (default), or sampled: products, convolutions and their gradients of 2^28 multiply-adds and more (with "
     "sampled=N: of N and more) are checked by rows and columns drawn at random and by random sums; whatever that "
     "leaves open is computed in full",
     Takes::one_value},
    {"--max-abs-err X",
     "limit of the maximum absolute error of MindSpore dumps (default 0.0001; the tool in use: 0.001)",
     Takes::one_value},
    {"--compat TOOL", "reproduce the cells of msprobe or att (the older tool), known errors included",
     Takes::one_value},
    {"--layout LAYOUT", "rule and files: current (default) or att, those of the older tool", Takes::one_value},
    {"--fail-on LEVEL",
     "exit code 1 for: error, warning (or error), suspicious ones, skip (suspicious, or a forward or backward that "
     "was not checked, unless a rule leaves it out), unsteady (other bits in another run or on another device); at any "
     "level for calls that failed to run",
     Takes::one_value},
});

constexpr auto output = std::to_array<Option>({
    {"-o, --out_path DIR", "directory of the CSV files (default ./)", Takes::one_value},
    {"-save_error_data",
     "save tensors of calls that do not pass or are suspicious, beside the CSVs or in error_data_path"},
    {"--titles LANGUAGE", "column titles: zh (default, also cn) or en", Takes::one_value},
    {"--message-format FORMAT", "human (default), json, one object per line, or github, annotations of GitHub Actions",
     Takes::one_value},
    {"--color WHEN", "auto (default: on a terminal, unless NO_COLOR is set), always or never", Takes::one_value},
    {"--summary", "closing table, also where stdout is no terminal"},
    {"--no-summary", "no closing table"},
    {"--report", "an HTML report beside the CSVs: the default, but for --compat, --layout att, --shard and --steal"},
    {"--no-report", "no HTML report; msrun report makes it later"},
    {"--junit FILE", "write the results as JUnit XML, for servers that show tests", Takes::one_value},
    {"--junit-status KIND",
     "what fails there: suspicious (default: calls that are, or failed to run) or documented (every error of the "
     "limits)",
     Takes::one_value},
    {"--durations N", "name the N slowest calls at the end", Takes::one_value},
    {"--list-apis", "print the supported APIs"},
    {"--list-standards", "print the precision standards and limits"},
    {"--list-judgement", "print the rules by which a difference is explained, in their order"},
    {"--list-devices",
     "print the devices that torch and mindspore, or the plugin of --backend, find: name, memory, versions"},
    {"--list-faults", "print the faults that --sim-fault knows"},
    {"--json", "with these lists: as JSON"},
});

HelpSection command_section() {
  return {
      "Commands",
      {{"multi_acc_check", "several devices and threads; the default (also multi_run_ut)"},
       {"acc_check", "one device (also run_ut)"},
       {"run_overflow_check",
        "which calls overflow (Inf, NaN) on the device but not on the CPU; forwards only, printed line by line, "
        "with -o also in overflow_check_result_<time>.csv; takes -d, --only, --except, -j; --compat msprobe: the "
        "documented texts"},
       {"merge",
        "makes one run of the parts that several hosts have checked (--shard, --steal); msrun merge -h tells more"},
       {"journal", "what the journal of a run holds: counts, times, damage, results; msrun journal -h tells more"}}};
}

HelpSection backend_section() {
  HelpSection section{"Backends", {}};
  for (const Backend& backend : backends())
    section.lines.push_back({std::string(backend.name), std::string(backend.help)});
  return section;
}

HelpSection tool_section() {
  HelpSection section{"Tools (msrun TOOL -h tells more)", {}};
  for (const ToolCommand& tool : tool_commands()) section.lines.push_back({tool.word, tool.help});
  return section;
}

}  // namespace

CommandDescription check_description(Command command) {
  CommandDescription description;
  description.program = "msrun";
  description.input_option = "-api_info";
  description.summary =
      "msrun checks the precision of every API call recorded in a dump.json: it runs each on the device and, in higher "
      "precision, on the CPU, and writes the verdicts to two CSV files.";
  description.usage = {"msrun [COMMAND] -api_info DUMP.JSON [OPTIONS]"};
  description.sections = {
      {"Examples",
       {{"msrun -api_info ./dump/dump.json -o ./result -n 32 -d 0 1 2 3", "32 threads on four devices"},
        {"msrun -api_info ./dump/dump.json --only 'Functional.conv2d.*'", "only these calls"},
        {"msrun -csv_path ./result/accuracy_checking_result_20261121071535.csv", "continue a run that was interrupted"},
        {"msrun run_overflow_check -api_info ./dump/dump.json", "whose output overflows, and where"}}},
      command_section(),
      tool_section(),
      backend_section()};
  const bool overflow = command == Command::run_overflow_check;
  description.groups = {{"Input", input},
                        {"Running", running},
                        {"Running", overflow ? std::span<const Option>(jit_of_overflow_check) : jit_of_check},
                        {"Judging", judging},
                        {"Output", output}};
  description.note =
      "Long options take one dash or two, and a value as \"-flag value\" or \"-flag=value\". Words behind \"--\" are "
      "no options.";
  description.exit_meanings = {
      {exit_completed, "completed, whatever the verdicts"},
      {exit_fail_on, "--fail-on is met, --max-failures has stopped the run, or a whole run has checked no call"},
      {exit_usage, "wrong usage, or input that cannot be used"},
      {exit_incomplete, "interrupted, or results could not be written; a pre-check can be continued with -csv_path"},
      {exit_internal, "internal error"},
  };
  return description;
}

}  // namespace msrun
