#include "orchestrator/command/journal_command.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "journal/error.h"
#include "journal/holder.h"
#include "journal/replaceable.h"
#include "kernels/base/counted.h"
#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"
#include "kernels/base/write_all.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/apart.h"
#include "kernels/io/files/entries.h"
#include "kernels/io/files/named_output.h"
#include "orchestrator/command/journal_contents.h"
#include "orchestrator/command/journal_text.h"
#include "orchestrator/command/result_json.h"
#include "orchestrator/command/why.h"
#include "orchestrator/output/run_paths.h"
#include "runner/results/journal_records.h"
#include "runner/results/reason.h"
#include "runner/results/run_header.h"
#include "runner/results/run_of_rank.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view journal_usage = "msrun journal PATH... [--json] [--durations N] [--export FILE]";

constexpr auto journal_output_options = std::to_array<Option>({
    {"--json", "JSON in place of the text: an object, or an array of them if there are several journals"},
    {"--durations N", "name the N slowest calls as well", Takes::one_value},
    {"--why CALL", "tell which rules of the judge were asked of the call, and which ended it (--list-judgement)",
     Takes::one_value},
    {"--export FILE", "every result with its metrics as a JSON line; - for stdout", Takes::one_value},
});

CommandDescription journal_description() {
  CommandDescription command;
  command.program = "msrun journal";
  command.summary =
      "msrun journal tells what the journal of a run holds: counts, times, damage, results. PATH is the journal, "
      "accuracy_checking_<time>.journal, a CSV beside it, or a directory: every journal in it.";
  command.usage = {journal_usage};
  command.sections = {
      {"Examples",
       {{"msrun journal out --why Functional.linear.3", "how the verdict of a call was made"},
        {"msrun journal out", "what is finished in the runs whose files are in out, as text"},
        {"msrun journal out/accuracy_checking_result_20261121071535.csv --export -", "all results as JSON lines"}}}};
  command.groups = {{"Output", journal_output_options}};
  command.exit_meanings = {
      {exit_completed, "shown, damaged or not"},
      {exit_usage, "wrong usage, or a file that is no journal, or a directory without one"},
      {exit_internal, "internal error"},
  };
  command.most_operands = std::numeric_limits<std::size_t>::max();
  return command;
}

// Bytes that are not UTF-8 become U+FFFD: names and messages come from foreign files.
std::string line_of(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The journal itself, if path is a CSV of its run.
std::string journal_of(const std::string& path) {
  check_path_text(path);
  if (!path.ends_with(".csv")) return path;
  if (!files_of_csv(path)) {
    throw UserError(path + " is not named like a CSV of acc_check, so there is no telling its journal.");
  }
  const std::optional<RunFiles> files = files_with_journal(path);
  std::error_code ignored;
  if (!fs::exists(files->journal, ignored)) {
    throw UserError(path + " has no journal beside it: " + files->journal + " does not exist.");
  }
  return files->journal;
}

Json slowest_json(const JournalContents& contents, std::size_t most) {
  const auto seconds = [](std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; };
  Json calls = Json::array();
  const Slowest slowest = slowest_of(contents, most);
  for (const SlowCall& call : slowest.calls()) {
    calls.push_back({{"name", call.name},
                     {"seconds", seconds(call.total())},
                     {"materialise", seconds(call.times.materialise)},
                     {"device", seconds(call.times.device)},
                     {"benchmark", seconds(call.times.benchmark)},
                     {"compare", seconds(call.times.compare)}});
  }
  return calls;
}

Json counts_json(const VerdictCounts& counts) {
  return {{"pass", counts.pass},
          {"warning", counts.warning},
          {"error", counts.error},
          {"skip", counts.skip},
          {"failed_to_run", counts.failed_to_run},
          {"skipped_by_rule", counts.skipped_by_rule},
          {"not_checkable", counts.not_checkable},
          {"simulated", counts.simulated},
          {"suspicious", counts.suspicious()},
          {"rounding_only", counts.rounding_only},
          {"proves_little", counts.weak},
          {"unsteady", counts.unsteady},
          {"devices_differ", counts.devices_differ},
          {"varying_as_declared", counts.varying}};
}

// Null for a run over one recording.
Json ranks_json(const JournalContents& contents) {
  if (contents.ranks.empty()) return nullptr;
  Json ranks = Json::array();
  for (const RankCounts& rank : contents.rank_counts) {
    Json entry{{"rank", rank.rank}, {"calls", rank.calls}, {"results", rank.counts.total() + rank.counts.skip}};
    entry.update(counts_json(rank.counts));
    ranks.push_back(std::move(entry));
  }
  return ranks;
}

Json optional_json(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

Json whole_json(const JournalContents& contents) {
  const journal::Recovery& recovery = contents.recovery;
  Json devices = Json::array();
  for (const auto& [device, counts] : contents.devices) {
    Json entry{{"device", device < 0 ? Json(nullptr) : Json(device)}, {"results", counts.total() + counts.skip}};
    entry.update(counts_json(counts));
    devices.push_back(std::move(entry));
  }
  Json writer;
  if (contents.writer) writer = {{"pid", contents.writer->pid}, {"command", contents.writer->command}};
  return {{"journal", contents.path},
          {"format_version", recovery.version},
          {"metadata", contents.metadata},
          {"notice", contents.simulated() ? Json(simulated_notice) : Json(nullptr)},
          {"calls", contents.calls},
          {"results", contents.finished},
          {"counts", counts_json(contents.counts)},
          {"devices", devices},
          {"ranks", ranks_json(contents)},
          {"kept", contents.kept},
          {"replaced", contents.replaced},
          {"waiting", contents.waiting},
          {"records", recovery.records},
          {"attempt_notes", contents.attempt_notes},
          {"batches", recovery.frames},
          {"time",
           {{"begun", optional_json(contents.started)},
            {"first_result", optional_json(contents.first_result)},
            {"last_result", optional_json(contents.last_result)}}},
          {"bytes", {{"disk", contents.disk_bytes}, {"uncompressed", contents.recovery.uncompressed_bytes}}},
          {"damage",
           {{"damaged_bytes", recovery.damaged_bytes},
            {"damaged_regions", recovery.damaged_regions},
            {"torn_bytes", recovery.torn_bytes},
            {"missing_batches", recovery.missing_frames},
            {"repeated_batches", recovery.repeated_frames},
            {"displaced_batches", recovery.displaced_frames},
            {"unreadable_records", contents.unreadable}}},
          {"writer", writer}};
}

// In dump order, journal by journal; with several, every line names its own.
void write_results(const std::vector<JournalContents>& journals, const std::function<bool(const std::string&)>& write) {
  for (const JournalContents& contents : journals) {
    const std::vector<std::vector<std::string>> represented = represented_calls(contents);
    for (std::uint32_t task = 0; task < contents.results.tasks(); ++task) {
      if (!contents.results.has(task)) continue;
      Json result = result_json(contents.results.get(task));
      result["represents"] = represented.empty() ? Json(nullptr) : Json(represented[task]);
      if (journals.size() > 1) result["journal"] = contents.path;
      if (!write(line_of(result))) return;
    }
  }
}

// Whether nobody will read what is printed from now on: the other end of a pipe was closed.
bool reader_is_gone() {
  pollfd state{STDOUT_FILENO, 0, 0};
  return poll(&state, 1, 0) > 0 && (state.revents & POLLERR) != 0;
}

// A pipe, a device, or what a process has open, which cannot be replaced whole: what is there already stays. A reader
// that goes away has read enough.
void export_to_device(const std::vector<JournalContents>& journals, const std::string& path) {
  const auto require = [&](bool good, const char* action) {
    if (good || errno == EPIPE) return;
    throw UserError("The file " + path + " cannot be " + action + ": " + errno_text() + ".");
  };
  const UniqueFd file = open_to_append(path);
  require(static_cast<bool>(file), "opened");
  constexpr std::size_t piece = std::size_t{64} << 10;
  std::string lines;
  bool good = true;
  write_results(journals, [&](const std::string& line) {
    lines += line;
    if (lines.size() < piece) return true;
    good = write_all(file.get(), lines);
    lines.clear();
    return good;
  });
  require(good && write_all(file.get(), lines), "written");
}

void export_to_file(const std::vector<JournalContents>& journals, const std::string& path) {
  check_path_text(path);
  std::error_code ignored;
  for (const JournalContents& contents : journals) {
    const RunFiles files = files_of_run_file(contents.path).value_or(RunFiles());
    check_apart(
        "--export", path,
        {{"the journal", contents.path}, {"the result file", files.result}, {"the details file", files.details}});
    for (const std::string& read : files_read(contents.metadata)) {
      check_apart("--export", path, {{"what the run has read,", read}});
      check_outside_tensors("--export", path, read);
    }
  }
  require_replaceable("--export", path);
  const bool is_device =
      fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) && !fs::is_directory(path, ignored);
  if (is_device || descriptor_behind(path)) {
    export_to_device(journals, path);
    return;
  }
  AtomicFile file(path);
  write_results(journals, [&](const std::string& line) {
    file.write(line);
    return true;
  });
  file.commit();
}

void export_to_stdout(const std::vector<JournalContents>& journals) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  std::string lines;
  write_results(journals, [&](const std::string& line) {
    lines += line;
    if (lines.size() < piece) return true;
    print_text(lines);
    lines.clear();
    return !reader_is_gone();
  });
  print_text(lines);
  for (const JournalContents& contents : journals) {
    const std::string losses = losses_text(contents.recovery, contents.unreadable);
    if (!losses.empty()) std::cerr << "msrun: " << sanitised(contents.path) << " is damaged: " << losses << ".\n";
  }
}

// Those that can be read. What is wrong with the only one is thrown, with one of several told on stderr.
std::vector<JournalContents> read_journals(const std::vector<std::string>& paths, bool keep_results) {
  std::vector<JournalContents> journals;
  for (const std::string& path : paths) {
    try {
      journals.push_back(read_journal(path));
      if (!keep_results) journals.back().results = StoredResults();
    } catch (const journal::Error& error) {
      if (paths.size() == 1) throw;
      std::cerr << "msrun: " << sanitised(error.what()) << '\n';
    }
  }
  return journals;
}

// Of all journals that have the call. Throws UserError if none has.
std::string why_of(const std::vector<JournalContents>& journals, const std::string& call) {
  std::string text;
  for (const JournalContents& contents : journals) {
    for (std::uint32_t task = 0; task < contents.results.tasks(); ++task) {
      if (!contents.results.has(task) || contents.results.outline(task).name != call) continue;
      if (journals.size() > 1) text += (text.empty() ? "" : "\n") + sanitised(contents.path) + ":\n";
      text += why_text(contents.results.get(task));
    }
  }
  if (text.empty()) throw UserError("--why: there is no result of " + shell_quoted(sanitised(call)));
  return text;
}

std::string shown(const std::vector<JournalContents>& journals, const JournalOptions& options) {
  if (options.json) {
    Json array = Json::array();
    for (const JournalContents& contents : journals) {
      array.push_back(whole_json(contents));
      if (options.durations > 0) array.back()["slowest"] = slowest_json(contents, options.durations);
    }
    return line_of(array.size() == 1 ? array.front() : array, 1);
  }
  std::string text;
  for (const JournalContents& contents : journals) {
    text += (text.empty() ? "" : "\n") + journal_text(contents, options.durations);
  }
  return text;
}

}  // namespace

std::vector<std::string> journals_of(const std::vector<std::string>& paths) {
  std::vector<std::string> journals;
  std::set<std::pair<dev_t, ino_t>> seen;
  const auto add = [&](std::string journal) {
    // By another way, or through a link, it is still the one. What is not there is told of by whoever opens it.
    struct stat status {};
    const bool is_there = stat(journal.c_str(), &status) == 0;
    if (!is_there || seen.emplace(status.st_dev, status.st_ino).second) journals.push_back(std::move(journal));
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add(journal_of(path));
      continue;
    }
    std::vector<std::string> inside;
    for (const fs::directory_entry& entry : entries_of(path)) {
      if (entry.path().extension() == ".journal") inside.push_back(entry.path().string());
    }
    if (inside.empty()) throw UserError("The directory " + path + " holds no journal of a run.");
    for (std::string& journal : inside) add(std::move(journal));
  }
  return journals;
}

std::variant<JournalOptions, PrintAndExit> parse_journal_options(const std::vector<std::string>& words) {
  auto parsed = parse_arguments(journal_description(), words);
  if (auto* text = std::get_if<PrintAndExit>(&parsed)) return std::move(*text);
  const Arguments& arguments = std::get<Arguments>(parsed);
  if (arguments.operands().empty() || arguments.operands().front().empty()) {
    throw UserError("msrun journal needs the journal of a run; usage: " + std::string(journal_usage));
  }
  JournalOptions options;
  options.paths = arguments.operands();
  options.json = arguments.given("json");
  options.durations = arguments.number<std::uint32_t>("durations", 0, 1, 1'000'000, "a whole number");
  if (arguments.given("export")) {
    options.export_path = arguments.text("export");
    if (options.export_path.empty()) throw UserError("--export needs a file, or - for stdout");
  }
  options.why = arguments.text("why");
  if (!options.why.empty() && (options.json || options.durations > 0 || !options.export_path.empty())) {
    throw UserError("--why stands alone: without --json, --durations and --export");
  }
  if (options.json && options.export_path == "-") throw UserError("--json and --export - exclude each other");
  return options;
}

int show_journals(const JournalOptions& options) {
  const std::vector<std::string> paths = journals_of(options.paths);
  const std::vector<JournalContents> journals =
      read_journals(paths, !options.export_path.empty() || !options.why.empty() || options.durations > 0);
  const int code = journals.size() == paths.size() ? exit_completed : exit_usage;
  if (journals.empty()) return code;
  if (!options.why.empty()) {
    print_text(why_of(journals, options.why));
    return code;
  }
  if (options.export_path == "-") {
    export_to_stdout(journals);
    return code;
  }
  std::string exported;
  if (!options.export_path.empty()) {
    export_to_file(journals, options.export_path);
    std::size_t results = 0;
    for (const JournalContents& contents : journals) results += contents.results.count();
    exported = "Exported      " + counted_with_commas(results, "result") + " to " + options.export_path + "\n";
  }
  print_text(shown(journals, options) + (options.json ? "" : exported));
  return code;
}

}  // namespace msrun
