#include "tools/shrink/source.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "journal/error.h"
#include "journal/file.h"
#include "journal/reader.h"
#include "journal/run_files.h"
#include "kernels/api/rank_pattern.h"
#include "kernels/base/command_line/suggestion.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/dump_json.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/entries.h"
#include "runner/results/counts.h"
#include "runner/results/journal_records.h"
#include "runner/results/recorded_option.h"
#include "runner/results/run_header.h"
#include "runner/results/run_of_rank.h"
#include "tools/common/recorded_call.h"
#include "tools/runs/run.h"

namespace msrun::shrink {
namespace {

namespace fs = std::filesystem;

bool is_given(const std::vector<OptionWords>& options, std::string_view flag) {
  return std::ranges::any_of(options, [&](const OptionWords& words) { return words.front() == flag; });
}

std::string shown(const std::string& path) { return sanitised(path); }

bool holds_journal(const std::string& folder) {
  return std::ranges::any_of(entries_of(folder),
                             [](const fs::directory_entry& entry) { return entry.path().extension() == ".journal"; });
}

// That of the newest run.
std::string journal_in(const std::string& folder) {
  const RunFiles files = runs::find_run(folder).files;
  if (!runs::has_journal(files)) {
    throw UserError("-i: the newest run in " + shown(folder) + " has no journal, " + shown(files.result) +
                    " is of it: name the journal of another run");
  }
  return files.journal;
}

// The journal that path means; nothing for a recording, or a folder that holds some and no journal.
std::optional<std::string> journal_of(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return holds_journal(path) ? std::optional(journal_in(path)) : std::nullopt;
  }
  if (!fs::exists(path, error)) throw UserError("-i: " + shown(path) + " does not exist");
  if (path.ends_with(".json")) return std::nullopt;
  const std::optional<RunFiles> files = files_with_journal(path);
  if (!files) {
    throw UserError("-i: " + shown(path) + " is neither a recording (dump.json) nor the journal or a CSV of a run");
  }
  if (!fs::exists(files->journal, error)) throw UserError("-i: " + shown(path) + " has no journal beside it");
  return files->journal;
}

void take_over(const RunHeader& metadata, std::vector<OptionWords> options, const std::vector<OptionWords>& given,
               Source& source) {
  const std::string backend = text_in(metadata, "backend");
  if (!backend.empty() && !is_given(options, "--backend")) options.push_back({"--backend", backend});
  std::vector<OptionWords> given_again;
  for (OptionWords& words : options) {
    if (words.size() == 2 && is_input_path(words[0])) words[1] = found_again(words[1], metadata);
    if (words.size() == 2 && words[0] == "-api_info") source.api_info = words[1];
    if (words.size() == 2 && words[0] == "-forward") source.forward = words[1];
    if (words.size() == 2 && words[0] == "-backward") source.backward = words[1];
    if (words.size() == 2 && words[0] == "-real_data_path") source.real_data_path = words[1];
    // A fault of the simulated device belongs to the backend.
    const bool of_backend = words[0] == "--sim-fault" || words[0] == "--python";
    const bool replaced = is_given(given, words[0]) || (of_backend && is_given(given, "--backend"));
    if (!decides_results(words[0]) || replaced) continue;
    (is_given_again(words) ? given_again : source.options).push_back(std::move(words));
  }
  require_given_again(given_again, "-i");
}

// What a journal tells of how a call ran.
struct RanCall {
  std::string name;
  std::int32_t device = -1;
  std::uint64_t inputs = 0;
};

// Looks in a journal for the result of a call. Of several ranks it may be that of another rank, under another name.
class CallSearch {
 public:
  explicit CallSearch(std::string name) : name_(std::move(name)) {}

  std::optional<RanCall> find(const journal::Source& source) {
    RecordHandlers handlers;
    handlers.rank = [this](RankCalls&& calls) {
      if (calls.rank == rank_in(name_)) calls_ = std::move(calls);
    };
    handlers.result = [this](ApiResult&& result) { see(std::move(result)); };
    handlers.unreadable = [](const std::string&) {};
    read_records(source, handlers);
    if (found_ || !calls_) return std::move(found_);
    calls_->for_each([this](std::uint32_t task, const std::string* own_name) {
      const auto of_task = of_rank_.find(task);
      if (of_task == of_rank_.end() || found_) return;
      const std::string_view own = own_name != nullptr ? *own_name : without_rank(of_task->second.name);
      if (own == without_rank(name_)) found_ = of_task->second;
    });
    return std::move(found_);
  }

 private:
  void see(ApiResult&& result) {
    const bool is_meant = result.name == name_;
    if (!is_meant && (!calls_ || !calls_->has(result.task))) return;
    RanCall call{std::move(result.name), result.device, result.inputs};
    (is_meant ? found_.emplace() : of_rank_[result.task]) = std::move(call);
  }

  std::string name_;
  std::optional<RanCall> found_;
  std::optional<RankCalls> calls_;  // of the rank of the name; they stand in front of the results
  std::map<std::uint32_t, RanCall> of_rank_;
};

std::vector<std::string> names_in(const journal::Source& source) {
  std::vector<std::string> names;
  RecordHandlers handlers;
  handlers.result = [&](ApiResult&& result) { names.push_back(std::move(result.name)); };
  handlers.unreadable = [](const std::string&) {};
  read_records(source, handlers);
  return names;
}

// A fault of some ranks is that of the call where the call is of one of them: the recording of one rank alone has no
// ranks that could be named.
bool is_fault_of_rank(OptionWords& words, const std::string& rank) {
  if (words.front() != "--sim-fault" || words.size() != 2) return true;
  const std::size_t effect = std::min(words[1].find('='), words[1].size());
  const RankedPattern pattern = ranked_pattern(words[1].substr(0, effect));
  if (pattern.rank.empty()) return true;
  words[1] = pattern.calls + words[1].substr(effect);
  return matches_rank(pattern.rank, rank);
}

// Where the journal is of several ranks, its name of the call has the whole name of the rank.
void choose_rank(const RunHeader& metadata, const std::string& path, std::string& call) {
  const auto recordings = metadata.find("recordings");
  const std::string named(rank_in(call));
  if (named.empty() || recordings == metadata.end() || !recordings->is_array()) return;
  std::vector<std::string> ranks;
  for (const RunHeader& recording : *recordings) {
    if (recording.is_object()) ranks.push_back(text_in(recording, "rank"));
  }
  call = chosen_rank(named, ranks, path) + ":" + std::string(without_rank(call));
}

void read_journal(const std::string& path, Options& options, Source& source) try {
  const std::unique_ptr<journal::Source> file = journal::open_source(path);
  const std::optional<RunHeader> metadata = read_run_header(*file);
  auto run_options = metadata ? checked_options(*metadata, path) : std::nullopt;
  if (!run_options) {
    throw UserError(shown(path) +
                    ": its header does not say with which options it was run; give the recording: "
                    "-i dump.json");
  }
  take_over(*metadata, *std::move(run_options), options.of_the_run, source);
  choose_rank(*metadata, path, options.api);
  const std::optional<RanCall> found = CallSearch(options.api).find(*file);
  if (!found) {
    const std::vector<std::string> names = names_in(*file);
    const auto nearest = nearest_word(options.api, names);
    throw UserError("--api " + shown(options.api) + " is not among the results in " + shown(path) +
                    (nearest ? ", did you mean " + shown(names[*nearest]) + "?" : ""));
  }
  if (found->device >= 0) source.device = found->device;
  if (found->inputs != 0) source.inputs = found->inputs;
} catch (const journal::Error& error) {
  throw UserError(error.what());
}

}  // namespace

Source find_source(Options& options) {
  Source source;
  // The CSV of a rank says which one is meant.
  const std::optional<RunOfRank> of_rank = run_of_rank_csv(options.input);
  if (of_rank && rank_in(options.api).empty()) options.api = of_rank->rank + ":" + options.api;
  source.options = options.of_the_run;
  if (const std::optional<std::string> journal = journal_of(options.input)) {
    read_journal(*journal, options, source);
    if (source.api_info.empty() && source.forward.empty())
      throw UserError(shown(*journal) + ": its header names no recording; give it: -i dump.json");
    const std::string& recording = source.api_info.empty() ? source.forward : source.api_info;
    std::error_code error;
    if (!fs::exists(recording, error))
      throw UserError(shown(*journal) + ": the recording of the run, " + shown(recording) +
                      ", does not exist any more");
  } else {
    source.api_info = options.input;
  }
  if (!source.api_info.empty()) {
    RecordedCall call = find_recorded_call(source.api_info, options.api);
    source.api_info = std::move(call.recording);
    options.api = std::move(call.name);
    std::erase_if(source.options, [&](OptionWords& words) { return !is_fault_of_rank(words, call.rank); });
  }
  if (options.device) source.device = options.device;
  return source;
}

std::vector<std::string> input_words(const Source& source) {
  std::vector<std::string> words;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  add("-api_info", source.api_info);
  add("-forward", source.forward);
  add("-backward", source.backward);
  add("-real_data_path", source.real_data_path);
  return words;
}

CallOfRecording read_call(const Source& source, const std::string& name) {
  CallOfRecording result;
  ApiCall& call = result.call;
  call.name = name;
  std::optional<DumpEntry> forward;
  std::optional<DumpEntry> backward;
  std::vector<std::string> names;
  const auto see = [&](std::string_view entry, DumpEntry&& content) {
    std::string_view base;
    const std::optional<Direction> direction = split_direction(entry, base);
    if (!direction) return;
    if (*direction == Direction::forward) names.emplace_back(base);
    if (base == name) (*direction == Direction::forward ? forward : backward) = std::move(content);
  };
  if (source.api_info.empty()) {
    read_att_pair(source.forward, source.backward, see);
  } else {
    DumpReader reader(source.api_info);
    reader.keep_outputs();
    DumpHeader header = reader.read(see);
    if (header.framework != "pytorch" && header.framework != "pt")
      throw UserError(shown(source.api_info) + " is a recording of " + shown(header.framework) +
                      ": shrink takes the calls of PyTorch's recordings alone");
    result.origin = std::move(header.origin);
  }
  const std::string& recording = source.api_info.empty() ? source.forward : source.api_info;
  if (!forward) {
    const auto nearest = nearest_word(name, names);
    throw UserError("--api " + shown(name) + " is not in " + shown(recording) +
                    (nearest ? ", did you mean " + shown(names[*nearest]) + "?" : ""));
  }
  if (!forward->problem.empty()) throw UserError(shown(recording) + ": " + shown(name) + ": " + forward->problem);
  call.args = std::move(forward->args);
  call.kwargs = std::move(forward->kwargs);
  call.output_dtype = std::move(forward->output_dtype);
  call.recorded = RecordedResult{std::move(forward->outputs), {}, {}};
  if (backward && backward->problem.empty()) {
    call.has_backward = true;
    call.grad_inputs = std::move(backward->grad_inputs);
    call.recorded->gradients = std::move(backward->outputs);
  }
  return result;
}

MaterialiseOptions data_of(const Source& source) {
  MaterialiseOptions options;
  for (const OptionWords& words : source.options) {
    if (words.front() == "--seed" && words.size() == 2) {
      const auto seed = parse_number<std::uint64_t>(words[1]);
      if (!seed)
        throw UserError("--seed must be a whole number, 0 to 18446744073709551615, not " +
                        shell_quoted(shown(words[1])));
      options.seed = *seed;
    }
  }
  const fs::path recording(source.api_info.empty() ? source.forward : source.api_info);
  std::error_code error;
  if (!source.real_data_path.empty()) {
    options.data_root = source.real_data_path;
  } else if (source.api_info.empty()) {
    options.data_root = recording.parent_path().empty() ? fs::path(".") : recording.parent_path();
  } else {
    options.data_root = tensor_folder_of(recording);
  }
  if (is_given(source.options, "--allow-outside-data")) return options;
  options.data_folders.push_back(fs::weakly_canonical(options.data_root, error));
  if (source.real_data_path.empty() && !source.api_info.empty()) {
    options.data_folders = folders_of_recording(recording);
  }
  if (source.api_info.empty()) {
    for (const char* folder : {"forward_real_data", "backward_real_data"})
      options.data_folders.push_back(fs::weakly_canonical(options.data_root / folder, error));
  }
  return options;
}

}  // namespace msrun::shrink
