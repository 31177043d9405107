#include "tools/overflow_check/check.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <ostream>

#include "kernels/base/exit_code.h"
#include "kernels/base/results_on_stdout.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/companions.h"
#include "kernels/io/files/paths.h"
#include "tools/overflow_check/origin.h"
#include "tools/overflow_check/report.h"
#include "tools/overflow_check/search.h"
#include "tools/recordings/folders.h"
#include "tools/recordings/not_finite.h"
#include "tools/recordings/recording_reader.h"

namespace msrun::overflow_check {
namespace {

constexpr std::size_t read_at_once = 8;

std::map<std::uint64_t, std::string> dump_folders(const std::string& step) {
  std::map<std::uint64_t, std::string> folders = recordings::rank_folders(step);
  if (!folders.empty()) return folders;
  if (!recordings::dump_file(step).empty()) return {{0, step}};
  if (const auto process = recordings::process_folder(step)) return {{0, *process}};
  throw UserError("There are neither folders of ranks nor a dump.json in " + step + ".");
}

std::vector<RankDump> read_ranks(const std::map<std::uint64_t, std::string>& folders) {
  std::vector<std::pair<std::uint64_t, std::string>> files;
  for (const auto& [number, folder] : folders) {
    const std::string path = recordings::dump_file(folder);
    if (path.empty()) throw UserError("There is no dump.json in " + folder + ".");
    files.emplace_back(number, path);
  }
  std::vector<RankDump> ranks;
  for (std::size_t begin = 0; begin < files.size(); begin += read_at_once) {
    std::vector<std::future<recordings::Recording>> reading;
    const std::size_t end = std::min(files.size(), begin + read_at_once);
    for (std::size_t i = begin; i < end; ++i) {
      // At the same time, or where no threads can be had, one after the other. What is to be done is copied: the
      // library gives a thread that it then cannot start the only one.
      const auto read = [path = files[i].second, number = files[i].first] {
        return recordings::read_recording(path, "rank" + std::to_string(number), recordings::Repeated::is_kept);
      };
      reading.push_back(std::async(std::launch::async | std::launch::deferred, read));
    }
    for (std::size_t i = begin; i < end; ++i) ranks.push_back({files[i].first, reading[i - begin].get()});
  }
  return ranks;
}

// Warns of what holds no numbers. Returns whether anything does.
bool has_numbers(const RankDump& rank, const std::function<void(const std::string&)>& warn) {
  const recordings::Recording& recording = rank.recording;
  const std::string name = "rank " + std::to_string(rank.number);
  if (recording.calls.empty()) {
    warn(name + " holds no calls.");
    return false;
  }
  const std::string repeated = recordings::repeated_calls(recording, recordings::Repeated::is_kept);
  if (!repeated.empty()) warn(name + ": " + repeated);
  if (recording.no_objects > 0) {
    warn(name + ": " + std::to_string(recording.no_objects) +
         " entries are no objects, or nested too deep or too large; they were not looked at.");
  }
  std::size_t seen = 0;
  std::size_t unseen = 0;
  for (const recordings::Leaf& leaf : recording.leaves) {
    if (!leaf.tensor) continue;
    const bool any = std::ranges::any_of(leaf.statistics, [&](const recordings::Value& value) {
      return value.kind == recordings::Kind::boolean || recordings::number_of(recording.texts, value);
    });
    if (any) {
      ++seen;
    } else if (recordings::elements_of(recording.text(leaf.shape)) != 0) {
      ++unseen;
    }
  }
  if (seen == 0) {
    warn(name + ": nothing could be looked at, no tensor has statistics.");
  } else if (unseen > 0) {
    warn(name + ": " + std::to_string(unseen) + " tensors have no statistics; they were not looked at.");
  }
  return seen > 0;
}

// "rank 1, rank 3"
std::string ranks_text(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) text += (text.empty() ? "rank " : ", rank ") + std::to_string(number);
  return text;
}

// So many calls are named that are as early as each other, and so many of the ranks that one of them lacks.
constexpr std::size_t most_named_calls = 4;
constexpr std::size_t most_named_ranks = 8;

void warn_of_absent(const std::vector<RankDump>& ranks, const Anomaly& anomaly,
                    const std::function<void(const std::string&)>& warn) {
  std::string named;
  for (std::size_t i = 0; i < std::min(anomaly.absent.size(), most_named_ranks); ++i) {
    const std::uint64_t number = anomaly.absent[i];
    const bool is_read = std::ranges::any_of(ranks, [&](const RankDump& rank) { return rank.number == number; });
    named +=
        (i == 0 ? "rank " : ", rank ") + std::to_string(number) + (is_read ? " has no such call" : " is not there");
  }
  if (named.empty()) return;
  if (anomaly.absent.size() > most_named_ranks) named += " and so on";
  const recordings::Recording& recording = ranks[anomaly.rank].recording;
  warn(sanitised(std::string(recording.name(recording.calls[anomaly.call]))) + " of rank " +
       std::to_string(ranks[anomaly.rank].number) + " may not be to blame: " + named + ", and it may come from there.");
}

// Where the value of the first call comes from, for the line on the console.
std::string source_text(const recordings::Recording& recording, const Anomaly& anomaly) {
  const std::string seen_by =
      anomaly.seen_by ? std::string(recording.name(recording.calls[*anomaly.seen_by])) : std::string();
  switch (anomaly.source) {
    case Source::none:
      return {};
    case Source::input:
      return " (already in its input)";
    case Source::parameters:
      return " (already in its parameter " + anomaly.holder + (seen_by.empty() ? ")" : ", read by " + seen_by + ")");
    case Source::inside:
      return " (in it, outside of the recorded calls; first seen by " + seen_by +
             (anomaly.holder.empty() ? ")" : " in " + anomaly.holder + ")");
  }
  return {};
}

// What is not finite and was given to the first call may come from modules; what is made counts before what is given
// to another rank, which may have it over a way that is not recorded.
void name_sources(const std::vector<RankDump>& ranks, std::vector<Anomaly>& anomalies) {
  for (Anomaly& anomaly : anomalies) {
    const recordings::Recording& recording = ranks[anomaly.rank].recording;
    const auto construct = recordings::read_construct_of(recording.folder);
    name_module(recording, construct ? &*construct : nullptr, anomaly);
  }
  std::stable_partition(anomalies.begin(), anomalies.end(),
                        [](const Anomaly& anomaly) { return anomaly.source != Source::input; });
}

struct Step {
  std::vector<RankDump> ranks;
  std::vector<std::uint64_t> not_searched;  // for want of statistics
  std::vector<Anomaly> anomalies;
};

Step search_step(const std::string& folder, const std::function<void(const std::string&)>& warn) {
  for (const std::string& unused : recordings::unused_ranks(folder)) warn(unused);
  Step step;
  step.ranks = read_ranks(dump_folders(folder));
  std::vector<std::pair<std::uint64_t, const recordings::Recording*>> recordings;
  bool any = false;
  for (const RankDump& rank : step.ranks) {
    if (!has_numbers(rank, warn)) step.not_searched.push_back(rank.number);
    any = any || !rank.recording.calls.empty();
    recordings.emplace_back(rank.number, &rank.recording);
  }
  if (!any) throw UserError("No APIs found in the dump.json files of " + folder + ".");
  if (step.not_searched.size() == step.ranks.size()) return step;
  step.anomalies = find_anomalies(recordings);
  name_sources(step.ranks, step.anomalies);
  return step;
}

// The folder that is to be searched: of a dump.json its own. Throws UserError for other files and what is not there.
std::string folder_of(const std::string& input) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(input, error)) return input;
  if (!fs::exists(input, error)) throw UserError("The folder " + input + " does not exist.");
  const fs::path path(input);
  if (path.filename() != "dump.json") {
    throw UserError("The path " + input +
                    " is a file: -i takes the folder of a recording or of a step, or a dump.json.");
  }
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

// The steps below a folder in their order; the folder itself if it holds none.
std::vector<std::string> steps_of(const std::string& folder) {
  std::vector<std::string> steps;
  if (recordings::rank_folders(folder).empty() && recordings::dump_file(folder).empty()) {
    for (const auto& [number, step] : recordings::step_folders(folder)) steps.push_back(step);
  }
  if (steps.empty()) steps.push_back(folder);
  return steps;
}

std::string write_report(const Options& options, const Step& step) {
  prepare_output_directory(options.output_path);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string path = join_path(
      options.output_path,
      "anomaly_analyze_" + std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) + ".json");
  AtomicFile file(OwnName{path});
  file.write(report_text(step.ranks, step.anomalies));
  file.commit();
  return path;
}

void tell_of_unsearched(const Step& step, std::ostream& out) {
  if (step.not_searched.empty()) return;
  out << "Not searched, for want of statistics: " << ranks_text(step.not_searched) << ".\n";
}

// What to print where nothing was found, and the exit code.
int tell_of_nothing(const Step& step, std::ostream& out) {
  if (step.not_searched.size() == step.ranks.size()) {
    out << "Nothing could be looked at: no tensor has statistics.\n";
    return exit_fail_on;
  }
  if (!step.not_searched.empty()) {
    // Nobody knows whether there is one.
    out << "Cannot find any anomaly node in the ranks that could be searched.\n";
    tell_of_unsearched(step, out);
    return exit_fail_on;
  }
  require_standard_output();
  out << "Cannot find any anomaly node, no need to generate analyze file.\n";
  return exit_completed;
}

}  // namespace

int check(const Options& options, std::ostream& out, const std::function<void(const std::string&)>& warn) {
  const std::vector<std::string> steps = steps_of(recordings::recording_folder(folder_of(options.input_path)));
  int nothing = exit_completed;
  for (const std::string& folder : steps) {
    if (steps.size() > 1) out << sanitised(folder) << ":\n";
    const Step step = search_step(folder, warn);
    if (step.anomalies.empty()) {
      nothing = std::max(nothing, tell_of_nothing(step, out));
      continue;
    }
    for (std::size_t i = 0; i < std::min(step.anomalies.size(), most_named_calls); ++i) {
      warn_of_absent(step.ranks, step.anomalies[i], warn);
    }
    const std::string path = write_report(options, step);
    const Anomaly& first = step.anomalies.front();
    const recordings::Recording& recording = step.ranks[first.rank].recording;
    out << sanitised("First NaN or infinity: rank " + std::to_string(step.ranks[first.rank].number) + ", " +
                     std::string(recording.name(recording.calls[first.call])) + source_text(recording, first))
        << '\n';
    if (step.anomalies.size() > 1) {
      out << "Calls as early as that: " << step.anomalies.size() - 1 << " more, in the file.\n";
    }
    out << "The analyze result is saved in: " << path << '\n';
    tell_of_unsearched(step, out);
    return exit_completed;
  }
  return nothing;
}

}  // namespace msrun::overflow_check
