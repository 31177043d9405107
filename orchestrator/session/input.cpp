#include "orchestrator/session/input.h"

#include <algorithm>
#include <string_view>
#include <system_error>

#include <spdlog/spdlog.h>

#include "kernels/api/call_codec.h"
#include "kernels/base/text.h"
#include "orchestrator/output/run_paths.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

// How far below a directory given by mistake recordings are looked for, and how many are named.
constexpr int most_levels = 5;
constexpr std::size_t most_files = 5;
constexpr int most_seen = 20000;

// Files below the directory whose names begin so and end in .json, sorted; links to directories are not followed.
std::vector<std::string> files_below(const std::string& directory, std::string_view beginning) {
  std::vector<std::string> found;
  std::error_code error;
  int seen = 0;
  fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator() && seen < most_seen; entry.increment(error), ++seen) {
    if (entry.depth() >= most_levels) entry.disable_recursion_pending();
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (name.starts_with(beginning) && name.ends_with(".json") && entry->is_regular_file(ignored)) {
      found.push_back(entry->path().string());
    }
  }
  std::ranges::sort(found);
  return found;
}

// A directory in place of a recording: names what may have been meant.
void refuse_directory(const char* option, const std::string& path, std::string_view beginning) {
  std::error_code ignored;
  if (path.empty() || !fs::is_directory(path, ignored)) return;
  const std::vector<std::string> files = files_below(path, beginning);
  std::string text = std::string(option) + ": The " + sanitised(path) + " should be a file!";
  if (files.empty()) {
    throw UserError(text + " There is no " + std::string(beginning) + (beginning.ends_with(".json") ? "" : "*.json") +
                    " in it or below it.");
  }
  text += " Below it there " + std::string(files.size() == 1 ? "is " : "are ");
  for (std::size_t i = 0; i < std::min(most_files, files.size()); ++i) {
    text += (i == 0 ? "" : ", ") + sanitised(files[i]);
  }
  if (files.size() > most_files) text += " and " + std::to_string(files.size() - most_files) + " more";
  throw UserError(text + ".");
}

// What only a run over one recording can do.
void require_one_recording(const Options& options, const RankFiles& found) {
  const char* what = options.command == Command::run_overflow_check ? "run_overflow_check"
                     : options.layout != ReportLayout::current      ? "--layout att"
                                                                    : nullptr;
  if (what == nullptr) return;
  std::string text = std::string(what) + " takes one recording, and below " + sanitised(options.api_info) +
                     " there are " + std::to_string(found.files.size()) + ": ";
  for (std::size_t i = 0; i < std::min(most_files, found.files.size()); ++i) {
    text += (i == 0 ? "" : ", ") + sanitised(found.files[i].path);
  }
  if (found.files.size() > most_files) text += " and " + std::to_string(found.files.size() - most_files) + " more";
  throw UserError(text + ".");
}

Recordings recordings_below(const Options& options) {
  const std::string folder = sanitised(options.api_info);
  RankFiles found = find_rank_files(options.api_info);
  if (found.files.empty()) throw UserError("-api_info: there is no dump.json in " + folder + " or below it.");
  Recordings recordings;
  for (const std::string& warning : found.warnings) spdlog::warn("{}", warning);
  if (found.files.size() == 1) {
    recordings.dump = found.files.front().path;
    recordings.notices.push_back("-api_info " + folder + ": the one dump.json there is checked, " +
                                 sanitised(recordings.dump) + ".");
    return recordings;
  }
  require_one_recording(options, found);
  recordings.ranks = std::move(found.files);
  return recordings;
}

// The ranks of a plan of several of which only checksums were recorded.
std::vector<const PlannedRank*> ranks_of_checksums(const Plan& plan) {
  std::vector<const PlannedRank*> ranks;
  for (const PlannedRank& rank : plan.ranks()) {
    if (rank.contents.only_checksums && rank.contents.calls > 0) ranks.push_back(&rank);
  }
  return ranks;
}

// Says which recordings hold checksums alone, and how to do without them if others do not.
std::string checksums_text(const std::string& path, const Plan& plan) {
  const std::string why = ", from which no inputs can be made; record statistics or tensors.";
  const std::vector<const PlannedRank*> ranks = ranks_of_checksums(plan);
  const auto with_calls = static_cast<std::size_t>(
      std::ranges::count_if(plan.ranks(), [](const PlannedRank& rank) { return rank.contents.calls > 0; }));
  if (ranks.size() == with_calls) return path + " holds of its tensors md5 checksums only" + why;
  std::string patterns;
  for (const PlannedRank* rank : ranks) patterns += (patterns.empty() ? "" : ",") + rank->calls.rank + ":*";
  const std::string others = ranks.size() == 1
                                 ? " holds of its tensors"
                                 : " and " + std::to_string(ranks.size() - 1) +
                                       (ranks.size() == 2 ? " other rank" : " other ranks") + " hold of their tensors";
  return sanitised(ranks.front()->path) + others + " md5 checksums only" + why +
         " To check the other ranks without: --except " + shell_quoted(patterns);
}

}  // namespace

const std::string& recording_of(const Options& options) {
  return options.api_info.empty() ? options.forward : options.api_info;
}

Recordings find_recordings(const Options& options) {
  refuse_directory("-forward", options.forward, "forward_info");
  refuse_directory("-backward", options.backward, "backward_info");
  Recordings recordings;
  std::error_code ignored;
  if (!options.api_info.empty() && fs::is_directory(options.api_info, ignored)) {
    recordings = recordings_below(options);
  } else {
    recordings.dump = options.api_info;
  }
  for (const std::string& path : {recordings.dump, options.forward, options.backward}) {
    if (!path.empty()) check_input_file(path, {".json"}, max_json_bytes);
  }
  if (!options.real_data_path.empty() && !fs::is_directory(options.real_data_path, ignored)) {
    throw UserError("-real_data_path: " + sanitised(options.real_data_path) + " is not a directory.");
  }
  return recordings;
}

Plan read_plan(const Options& options, const Recordings& recordings, const PlanOptions& plan_options) {
  if (!recordings.ranks.empty()) return Plan::read_ranks(options.api_info, recordings.ranks, plan_options);
  return options.forward.empty() ? Plan::read(recordings.dump, plan_options)
                                 : Plan::read_att(options.forward, options.backward, plan_options);
}

Plan read_whole_plan(const Options& options, const Recordings& recordings, bool keep_results) {
  PlanOptions plan_options;
  plan_options.layout = options.layout;
  plan_options.framework = options.framework;
  plan_options.refusal = [](const Dialect&, const std::string&) { return Refusal{}; };
  plan_options.keep_results = keep_results;
  return read_plan(options, recordings, plan_options);
}

void require_calls(const Options& options, const Plan& plan) {
  const std::string path = sanitised(options.forward.empty() ? options.api_info : options.forward);
  const RecordingContents& contents = plan.contents();
  if (contents.calls == 0 && plan.dialect().leaves_out_calls()) {
    spdlog::warn("{} records no API that is checked; APIs are recorded at the levels L1 and mix.", path);
    return;
  }
  if (contents.calls == 0) {
    if (contents.entries == 0 && options.command == Command::run_overflow_check) {
      // The recorder found no call that overflowed, which is a finding.
      spdlog::warn("data field is empty, no overflow data found.");
      return;
    }
    if (contents.entries == 0) throw UserError(path + ": data field is empty, there is no call to check.");
    throw UserError(path + (contents.modules == contents.entries
                                ? " records modules only; record level L1 or mix."
                                : " records no call: none of its entries is the forward of an API."));
  }
  if (plan.size() == 0) throw UserError(plan.refusal());
  if (!contents.only_checksums) return;
  const std::string checksums = checksums_text(path, plan);
  if (!options.compat_msprobe) throw UserError(checksums);
  spdlog::warn("{}", checksums);
}

void require_recorded_results(const Options& options, const Plan& plan) {
  if (!options.forward.empty()) {
    throw UserError("--backend recorded: the files of the older recorder hold no results.");
  }
  const auto refuse = [](const std::string& path) {
    throw UserError("--backend recorded: " + path +
                    " holds statistics, not tensors; record it with \"task\": \"tensor\".");
  };
  for (const PlannedRank& rank : plan.ranks()) {
    if (!rank.real_data && rank.calls.size() > 0) refuse(sanitised(rank.path));
  }
  if (!plan.real_data()) refuse(options.api_info);
}

void require_device_ids(const Options& options, const Plan& plan) {
  const int last = plan.dialect().last_device();
  for (const int device : options.devices) {
    if (device <= last) continue;
    throw UserError("-d: the argument 'device_id' must be in range [0, " + std::to_string(last) + "], but got " +
                    std::to_string(device));
  }
}

bool holds_results(const Plan& plan) {
  for (std::uint32_t task = 0; task < plan.size(); ++task) {
    std::string_view encoded = plan.view().outputs(task);
    if (encoded.empty()) continue;
    bool found = false;
    for_each_leaf(decode_value(encoded), [&](const Value& leaf) {
      const auto* spec = leaf.get<std::shared_ptr<const TensorSpec>>();
      found = found || (spec != nullptr && !(*spec)->file().empty());
    });
    if (found) return true;
  }
  return false;
}

std::filesystem::path data_root(const Options& options, const TensorFolder& recorded) {
  return options.real_data_path.empty() ? recorded.path : std::filesystem::path(options.real_data_path);
}

std::vector<fs::path> data_folders(const Options& options, const TensorFolder& recorded) {
  if (options.allow_outside_data) return {};
  const fs::path root = data_root(options, recorded);
  std::vector<fs::path> folders{root};
  if (options.real_data_path.empty()) folders = recorded.within;
  if (!options.forward.empty())
    folders.insert(folders.end(), {root / "forward_real_data", root / "backward_real_data"});
  for (fs::path& folder : folders) {
    std::error_code error;
    const fs::path resolved = fs::weakly_canonical(folder, error);
    if (!error) folder = resolved;
  }
  return folders;
}

void warn_if_data_is_missing(const Options& options, const Plan& plan) {
  const auto is_missing = [&](const std::string& path, const TensorFolder& recorded) {
    const std::filesystem::path root = data_root(options, recorded);
    std::error_code ignored;
    if (std::filesystem::is_directory(root, ignored)) return false;
    spdlog::warn("{} has its tensors in files, but there is no directory {}: calls that need them are SKIP.", path,
                 root.string());
    return true;
  };
  for (const PlannedRank& rank : plan.ranks()) {
    if (rank.real_data && is_missing(rank.path, rank.tensor_folder)) return;
  }
  if (plan.ranks().empty() && plan.real_data()) {
    is_missing(options.forward.empty() ? options.api_info : options.forward, plan.tensor_folder());
  }
}

}  // namespace msrun
