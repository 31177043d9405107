// The command line of msrun: what the user asked for as one plain struct. Syntax and ranges are checked here; whether
// files and devices exist is for those who use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/base/available_memory.h"
#include "kernels/base/command_line/arguments.h"
#include "kernels/base/error.h"
#include "kernels/compare/compare.h"
#include "orchestrator/command/journal_command.h"
#include "orchestrator/command/merge_options.h"
#include "orchestrator/command/tool_commands.h"
#include "orchestrator/view/console.h"
#include "runner/dialects/dialect.h"
#include "runner/results/rank_calls.h"

namespace msrun {

enum class Command : std::uint8_t { multi_acc_check, acc_check, run_overflow_check };
enum class SeedMode : std::uint8_t { per_api, stream };
enum class MessageFormat : std::uint8_t { human, json, github };
// What a finished result survives: the death of any process, or a power loss as well.
enum class Durability : std::uint8_t { process, power };
// What a completed run is not to have: errors; errors or warnings; those of them that rounding does not explain; these
// or a call that was not checked although no rule leaves it out; results that differ between runs or devices. At any
// level but never: a call that failed to run.
enum class FailOn : std::uint8_t { never, error, warning, suspicious, skip, unsteady };

// What the file of --junit has as failures: what is suspicious or failed to run, or every documented error as well.
enum class JunitStatus : std::uint8_t { suspicious, documented };

// Memory that all tasks in flight may take together: bytes if they are given, else a share of what is free at the
// start.
struct MemoryLimit {
  std::uint64_t bytes = 0;
  double share = usual_share_of_memory;  // of the free memory, 0 < share <= 1; used if bytes is 0
};

inline constexpr int max_threads = 64;
inline constexpr int max_threads_per_device = 8;
inline constexpr int last_usual_device = 7;  // ids above it get a notice: eight devices are a host's usual number

// One of several parts of equal cost that the calls of a recording are dealt to; counted from 1.
struct Shard {
  std::uint32_t number = 1;
  std::uint32_t of = 1;
  bool operator==(const Shard&) const = default;
};

struct Options {
  std::string program = "msrun";  // as this process was started
  Command command = Command::multi_acc_check;
  std::string framework;  // of a leading "-f pytorch", lower case; empty: the dump says it

  // Input. Exactly one of api_info and forward is set, unless a list is printed.
  std::string api_info;        // dump.json, or a folder with those of several ranks
  std::string forward;         // forward_info_<pid>.json of the older recorder
  std::string backward;        // its backward_info_<pid>.json; may be empty
  std::string real_data_path;  // parent directory of forward_real_data; may be empty
  std::string config_path;     // config.json or config.yaml; may be empty
  std::string csv_path;        // result CSV of the run to continue; empty: a fresh run
  bool retry_skip = false;     // with csv_path: calls that were SKIP, though by no rule, run again
  // Glob patterns for names such as "Functional.relu.0", each on its own though they may be given with commas.
  std::vector<std::string> only;    // empty: all calls
  std::vector<std::string> except;  // calls to leave out
  bool allow_outside_data = false;  // tensor files may lie outside of the dump
  bool filter_api = false;          // -f: repeated calls are checked once
  bool filter_compat = false;       // with msProbe's rule for what counts as repeated
  AcrossRanks across_ranks = AcrossRanks::calls;
  bool last_failed = false;  // of these the calls that the last run in out_path found wrong or could not run

  // Output.
  std::string out_path = "./";
  bool out_path_given = false;
  bool save_error_data = false;
  bool english_titles = false;
  MessageFormat message_format = MessageFormat::human;
  std::optional<bool> summary;  // unset: printed if stdout is a terminal
  std::optional<bool> report;   // unset: as a rule it is written (wants_report)
  ColourMode colour = ColourMode::automatic;
  FailOn fail_on = FailOn::never;
  std::string junit_path;  // file of the results for servers that show tests; empty: none
  JunitStatus junit_status = JunitStatus::suspicious;
  std::uint32_t durations = 0;  // how many of the slowest calls are named at the end
  bool dry_run = false;         // say what would run, and end
  bool list_apis = false;       // print the supported APIs and end; no input is needed
  bool list_standards = false;  // print the precision standards and end; no input is needed
  bool list_judgement = false;  // print the rules of the judge and end; no input is needed
  bool list_devices = false;  // print what torch, MindSpore or a plugin finds on this host and end; no input is needed
  bool list_faults = false;   // print the faults of the simulated device and end; no input is needed
  bool json_lists = false;    // these as JSON
  bool prints_list() const { return list_apis || list_standards || list_judgement || list_devices || list_faults; }

  // How the calls run.
  std::vector<int> devices{0};    // distinct ids of at least 0; those above last_usual_device get a notice
  int threads = 8;                // of all devices together: at least one and at most eight for each device
  std::string backend = "auto";   // auto, sim, recorded, torch, mindspore, plugin
  std::string backend_kind;       // "npu" of "torch:npu", a plugin's absolute path; empty: the backend chooses
  std::string python;             // interpreter of the torch and mindspore backends; empty: MSRUN_PYTHON, else python3
  std::size_t torch_lanes = 2;    // calls that a worker of torch or mindspore runs at a time
  std::size_t torch_workers = 1;  // its workers per device
  std::string recorded_on;        // npu, cuda, cpu; empty: what the recording says, else an accelerator
  std::vector<std::string> sim_faults;  // as written; the sim backend parses them
  // Patterns of these faults; where a run is continued, of those that it was begun with.
  std::vector<std::string> apart;
  bool require_device = false;  // a run without NPU or GPU is refused
  bool jit_compile = false;
  std::optional<std::uint64_t> seed;  // unset: the usual one of the recording's framework
  SeedMode seed_mode = SeedMode::per_api;
  std::optional<double> task_timeout;     // seconds for one call; 0: no limit; unset: by its cost
  std::uint32_t retries = 2;              // of a call whose runner died
  std::uint32_t max_device_failures = 3;  // deaths of a runner at no call before its device is given up
  MemoryLimit memory;
  std::uint32_t repeat = 1;  // runs of every call on its device
  bool same_on_all = false;  // every call runs on all devices, of which there are two or more
  bool core_dumps = false;   // a runner that crashes may leave one
  bool near_device = true;   // a runner stays on the NUMA node of its device
  // Calls that are suspicious or fail to run, after which the run stops; 0: it does not.
  std::uint32_t max_failures = 0;
  Durability durability = Durability::process;

  // Which of the calls this process checks, where several share them; else all.
  std::optional<Shard> shard;
  bool steal = false;         // what it can take of the leases in the folder of the results
  std::uint32_t leases = 0;   // how many these are; 0: by the number of calls
  double lease_timeout = 60;  // seconds without a sign of its holder after which others take a lease over
  std::string node;           // with steal: the name of this process, which no other has

  // How the results are judged.
  Policy standard = Policy::per_api;
  Limits limits = Limits::current;
  // Multiply-adds from which a product is checked by a part of its benchmark; unset: the whole benchmark is computed.
  std::optional<double> sampled_work;
  double max_abs_error = CompareOptions().max_abs_error;
  bool compat_msprobe = false;  // msProbe's results cell by cell, its known errors included
  ReportLayout layout = ReportLayout::current;

  // The options that were given and that only some frameworks' recordings heed (Dialect::unheeded_options).
  std::vector<std::string> given_for_some;

  // With csv_path: what the journal said and the command line did not, to be told; options quoted for a shell.
  std::string taken_over;

  std::vector<std::string> notices;  // what was changed about the request, one sentence each, to be logged as warnings
};

// Whether a run that is complete leaves a report beside its CSVs. One of many parts does so only if it is asked to.
bool wants_report(const Options& options);

using ParsedCommandLine = std::variant<Options, JournalOptions, MergeOptions, ToolRequest, PrintAndExit>;

// argv[0] is used for what msrun prints to be run again. Throws UserError on usage errors, one line without the
// program's name.
ParsedCommandLine parse_command_line(int argc, const char* const* argv);

// The command that checks the same calls in the same way, to be completed with "--only NAME". Words are quoted for a
// shell.
std::string reproduce_command(const Options& options);

// The run_overflow_check that these options ask for.
std::string overflow_command(const Options& options);

// The command that continues an interrupted run whose result file is csv_path.
std::string resume_command(const Options& options, std::string_view csv_path);

}  // namespace msrun
