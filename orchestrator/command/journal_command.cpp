#include "orchestrator/command/journal_command.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>

#include "journal/error.h"
#include "journal/holder.h"
#include "kernels/base/counted.h"
#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "orchestrator/command/journal_contents.h"
#include "orchestrator/command/result_json.h"
#include "orchestrator/output/run_paths.h"
#include "orchestrator/view/slowest.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view usage = "msrun journal PATH... [--json] [--durations N] [--export FILE]";

constexpr auto output_options = std::to_array<Option>({
    {"--json", "JSON in place of the text: an object, or an array of them if there are several journals"},
    {"--durations N", "name the N slowest calls as well", Takes::one_value},
    {"--export FILE", "every result with its metrics as a JSON line; - for stdout", Takes::one_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "msrun journal";
  command.summary =
      "msrun journal tells what the journal of a run holds: counts, times, damage, results. PATH is the journal, "
      "accuracy_checking_<time>.journal, a CSV beside it, or a directory: every journal in it.";
  command.usage = {usage};
  command.sections = {
      {"Examples",
       {{"msrun journal out", "what is finished in the runs whose files are in out, as text"},
        {"msrun journal out/accuracy_checking_result_20261121071535.csv --export -", "all results as JSON lines"}}}};
  command.groups = {{"Output", output_options}};
  command.exit_meanings = {
      {exit_completed, "shown, damaged or not"},
      {exit_usage, "wrong usage, or a file that is no journal, or a directory without one"},
      {exit_internal, "internal error"},
  };
  command.most_operands = std::numeric_limits<std::size_t>::max();
  return command;
}

// Bytes that are not UTF-8 become U+FFFD: names and messages come from foreign files.
std::string line_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string time_text(double time) {
  const auto whole = static_cast<std::time_t>(time);
  std::tm local{};
  if (!(std::abs(time) < 1e12) || localtime_r(&whole, &local) == nullptr) return "?";
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local));
  return text;
}

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string counted_with_commas(std::uint64_t count, std::string_view noun) {
  return with_commas(count) + " " + plural(count, noun);
}

// The journal itself, if path is a CSV of its run.
std::string journal_of(const std::string& path) {
  check_path_text(path);
  if (!path.ends_with(".csv")) return path;
  const std::optional<RunFiles> files = files_of_csv(path);
  if (!files) {
    throw UserError(path + " is not named like a CSV of acc_check, so there is no telling its journal.");
  }
  std::error_code ignored;
  if (!fs::exists(files->journal, ignored)) {
    throw UserError(path + " has no journal beside it: " + files->journal + " does not exist.");
  }
  return files->journal;
}

std::string unsteady_text(const VerdictCounts& counts) {
  std::string text;
  if (counts.unsteady > 0) text += ", unsteady " + with_commas(counts.unsteady);
  if (counts.devices_differ > 0) text += ", not the same on every device " + with_commas(counts.devices_differ);
  return text;
}

std::string counts_line(const VerdictCounts& counts) {
  return "pass " + with_commas(counts.pass) + ", warning " + with_commas(counts.warning) + ", error " +
         with_commas(counts.error) + ", SKIP " + with_commas(counts.skip) + " (" + with_commas(counts.failed_to_run) +
         " failed to run, " + with_commas(counts.skipped_by_rule) + " by rule), suspicious " +
         with_commas(counts.suspicious()) + ", proves little " + with_commas(counts.mistrusted) + unsteady_text(counts);
}

// Text or number of the metadata, fit for one line.
std::string plain(const Json& value) {
  if (value.is_string()) return sanitised(value.get<std::string>());
  return value.is_null() ? "?" : sanitised(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

class Text {
 public:
  void line(std::string title, const std::string& value) {
    title.resize(std::max<std::size_t>(title.size() + 1, 14), ' ');
    text_ += title + value + "\n";
  }

  void metadata(const JournalContents& contents) {
    const Json& data = contents.metadata;
    if (data.is_null()) {
      line("Written by", "another program: its " + counted_with_commas(contents.recovery.metadata.size(), "byte") +
                             " of metadata are not msrun's");
      return;
    }
    const auto get = [&](const char* key) { return data.value(key, Json()); };
    line("Written by", "msrun " + plain(get("version")));
    const Json print = get("fingerprint").is_object() ? get("fingerprint") : Json::object();
    const auto option = [&](const char* key) { return plain(print.value(key, Json())); };
    const std::string old_dump = plain(get("forward"));
    const std::string dump = plain(get("api_info"));
    line("Dump", (dump.empty() ? old_dump : dump) + ", " + option("calls") + " calls, fingerprint " + option("dump"));
    std::string faults;
    const Json given = get("sim_faults");
    if (given.is_array()) {
      for (const Json& fault : given) faults += " " + plain(fault);
    }
    line("Backend", plain(get("backend")) + (faults.empty() ? "" : ", faults:" + faults));
    if (contents.simulated()) line("", std::string(simulated_notice));
    line("Options", "seed " + option("seed") + " (" + option("seed_mode") + "), standard " + option("standard") +
                        (print.contains("limits") ? ", limits " + option("limits") : "") +
                        (print.contains("benchmark") ? ", benchmark " + option("benchmark") : "") + ", compat " +
                        option("compat"));
    line("Begun with", plain(get("threads")) + " threads on devices " + plain(get("devices")));
    part(get, print);
    line("Command", plain(get("command")));
  }

  // Of a run that is one of many, or was made of them.
  template <class Get>
  void part(const Get& get, const Json& print) {
    const std::string shard = plain(print.value("shard", Json()));
    const Json calls = get("shard_calls");
    if (shard == "stolen") line("Part", "what " + plain(get("node")) + " took of the leases");
    if (shard.find('/') != std::string::npos) {
      line("Part", shard + ", " + plain(calls) + " calls, on " + plain(get("host")));
    }
    for (const Json& merged : get("merged")) {
      if (!merged.is_object()) continue;
      line("Merged from", plain(merged.value("journal", Json())) + " (" + plain(merged.value("part", Json())) + ", " +
                              plain(merged.value("host", Json())) + ", " + plain(merged.value("device", Json())) + ")");
    }
  }

  void times(const JournalContents& contents) {
    if (contents.started) line("Begun", time_text(*contents.started));
    if (!contents.last_result) return;
    line("Results", "from " + time_text(*contents.first_result) + " to " + time_text(*contents.last_result) + ", " +
                        duration_text(*contents.last_result - *contents.first_result));
  }

  void results(const JournalContents& contents) {
    line("Calls", with_commas(contents.finished) + " of " + with_commas(contents.calls) +
                      " finished: " + counts_line(contents.counts));
    for (const auto& [device, counts] : contents.devices) {
      const bool none = device < 0;
      line(none ? "  no device" : "  device " + std::to_string(device),
           with_commas(counts.total() + counts.skip) + ": " + counts_line(counts));
    }
    if (!contents.ranks.empty()) {
      std::vector<std::string> names;
      std::uint64_t calls = 0;
      for (const RankCounts& rank : contents.rank_counts) {
        names.push_back(rank.rank);
        calls += rank.calls;
      }
      line("Ranks", with_commas(names.size()) + ", whose " + plural(calls, "call") +
                        " these stand for: " + sanitised(some_ranks(names)));
    }
    if (contents.kept > 0) {
      line("Kept", counted_with_commas(contents.kept, "result") + " of calls that the options of this run leave out");
    }
    if (contents.waiting > 0) {
      line("Waiting", counted_with_commas(contents.waiting, "call") + " that not all devices have run");
    }
    if (contents.replaced > 0) {
      line("Replaced", counted_with_commas(contents.replaced, "result") + " of calls that were run again");
    }
  }

  void size(const JournalContents& contents) {
    const journal::Recovery& recovery = contents.recovery;
    line("Records", with_commas(recovery.records) + " in " +
                        (recovery.frames == 1 ? "1 batch" : with_commas(recovery.frames) + " batches") + ", " +
                        counted_with_commas(contents.attempt_notes, "note") + " of calls in flight among them");
    line("Size", counted_with_commas(contents.disk_bytes, "byte") + ", " +
                     with_commas(contents.recovery.uncompressed_bytes) + " uncompressed; format " +
                     std::to_string(recovery.version));
  }

  void damage(const JournalContents& contents) {
    const journal::Recovery& recovery = contents.recovery;
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
    if (recovery.damaged_regions > 0) {
      add(counted_with_commas(recovery.damaged_bytes, "byte") + " in " +
          counted_with_commas(recovery.damaged_regions, "place") +
          " are lost, the calls recorded there run again with -csv_path");
    }
    if (recovery.missing_frames > 0) {
      add("of the batches " + with_commas(recovery.missing_frames) +
          " missing by number, the calls recorded there run again with -csv_path");
    }
    if (recovery.repeated_frames > 0)
      add(counted_with_commas(recovery.repeated_frames, "repeated frame") + " passed over");
    if (recovery.displaced_frames > 0) add(counted_with_commas(recovery.displaced_frames, "frame") + " out of place");
    if (recovery.torn_tail) {
      add(counted_with_commas(recovery.torn_bytes, "byte") + " at the end are torn" +
          (contents.writer ? ", or being written just now" : ": a batch that was not completed"));
    }
    if (contents.unreadable > 0) add(counted_with_commas(contents.unreadable, "record") + " cannot be read");
    line("Damage", text.empty() ? "none" : text);
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Slowest slowest_of(const JournalContents& contents, std::size_t most) {
  Slowest slowest(most);
  for (std::uint32_t task = 0; task < contents.results.tasks(); ++task) {
    if (contents.results.has(task)) slowest.see(contents.results.outline(task));
  }
  return slowest;
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

std::string human_text(const JournalContents& contents, std::size_t durations) {
  Text text;
  text.line("Journal", contents.path);
  text.metadata(contents);
  text.times(contents);
  if (!contents.metadata.is_null()) text.results(contents);
  text.size(contents);
  text.damage(contents);
  text.line("Writer", contents.writer ? journal::holder_text(*contents.writer) : "none");
  return text.text() + slowest_of(contents, durations).text();
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
          {"proves_little", counts.mistrusted},
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

// A pipe or a device, which cannot be replaced whole. A reader that goes away has read enough.
void export_to_device(const std::vector<JournalContents>& journals, const std::string& path) {
  const auto require = [&](bool good, const char* action) {
    if (good || errno == EPIPE) return;
    throw UserError("The file " + path + " cannot be " + action + ": " + std::generic_category().message(errno) + ".");
  };
  std::ofstream file(path, std::ios::binary);
  require(file.is_open(), "opened");
  write_results(journals, [&](const std::string& line) { return static_cast<bool>(file << line); });
  require(file && file.flush(), "written");
}

void export_to_file(const std::vector<JournalContents>& journals, const std::string& path) {
  check_path_text(path);
  std::error_code ignored;
  for (const JournalContents& contents : journals) {
    if (fs::equivalent(path, contents.path, ignored)) throw UserError("--export: " + path + " is the journal itself.");
  }
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) && !fs::is_directory(path, ignored)) {
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
    const journal::Recovery& recovery = contents.recovery;
    if (recovery.damaged_bytes + recovery.torn_bytes + recovery.missing_frames + contents.unreadable == 0) continue;
    std::cerr << "msrun: " << contents.path << " is damaged: " << counted_with_commas(recovery.damaged_bytes, "byte")
              << " in the middle, " << counted_with_commas(recovery.torn_bytes, "byte") << " at the end, "
              << counted_with_commas(recovery.missing_frames, "missing batch number") << ", "
              << counted_with_commas(contents.unreadable, "unreadable record") << ".\n";
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
    text += (text.empty() ? "" : "\n") + human_text(contents, options.durations);
  }
  return text;
}

}  // namespace

std::vector<std::string> journals_of(const std::vector<std::string>& paths) {
  std::vector<std::string> journals;
  const auto add = [&](std::string journal) {
    if (std::ranges::find(journals, journal) == journals.end()) journals.push_back(std::move(journal));
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add(journal_of(path));
      continue;
    }
    std::vector<std::string> inside;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".journal") inside.push_back(entry->path().string());
    }
    if (error) throw UserError("The directory " + path + " cannot be read: " + error.message() + ".");
    if (inside.empty()) throw UserError("The directory " + path + " holds no journal of a run.");
    std::ranges::sort(inside);
    for (std::string& journal : inside) add(std::move(journal));
  }
  return journals;
}

std::variant<JournalOptions, PrintAndExit> parse_journal_options(const std::vector<std::string>& words) {
  auto parsed = parse_arguments(description(), words);
  if (auto* text = std::get_if<PrintAndExit>(&parsed)) return std::move(*text);
  const Arguments& arguments = std::get<Arguments>(parsed);
  if (arguments.operands().empty() || arguments.operands().front().empty()) {
    throw UserError("msrun journal needs the journal of a run; usage: " + std::string(usage));
  }
  JournalOptions options;
  options.paths = arguments.operands();
  options.json = arguments.given("json");
  options.durations = arguments.number<std::uint32_t>("durations", 0, 1, 1'000'000, "a whole number");
  if (arguments.given("export")) {
    options.export_path = arguments.text("export");
    if (options.export_path.empty()) throw UserError("--export needs a file, or - for stdout");
  }
  if (options.json && options.export_path == "-") throw UserError("--json and --export - exclude each other");
  return options;
}

int show_journals(const JournalOptions& options) {
  const std::vector<std::string> paths = journals_of(options.paths);
  const std::vector<JournalContents> journals =
      read_journals(paths, !options.export_path.empty() || options.durations > 0);
  const int code = journals.size() == paths.size() ? exit_completed : exit_usage;
  if (journals.empty()) return code;
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
