#include "orchestrator/command/journal_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>

#include "journal/holder.h"
#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"
#include "orchestrator/command/journal_contents.h"
#include "orchestrator/output/run_paths.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view usage = "msrun journal FILE [--json] [--export FILE]";

constexpr auto output_options = std::to_array<Option>({
    {"--json", "one JSON object in place of the text"},
    {"--export FILE", "every result with its metrics as a JSON line; - for stdout", Takes::one_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "msrun journal";
  command.summary =
      "msrun journal tells what the journal of a run holds: counts, times, damage, results. FILE is the journal, "
      "accuracy_checking_<time>.journal, or a CSV beside it.";
  command.usage = {usage};
  command.sections = {
      {"Examples",
       {{"msrun journal out/accuracy_checking_20261121071535.journal", "what is finished, as text"},
        {"msrun journal out/accuracy_checking_result_20261121071535.csv --export -", "all results as JSON lines"}}}};
  command.groups = {{"Output", output_options}};
  command.exit_meanings = {
      {exit_completed, "shown, damaged or not"},
      {exit_usage, "wrong usage, or a file that is no journal"},
      {exit_internal, "internal error"},
  };
  command.most_operands = 1;
  command.operands = "one file";
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

std::string plural(std::uint64_t count, const std::string& noun) {
  return with_commas(count) + " " + noun + (count == 1 ? "" : "s");
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

std::string counts_line(const VerdictCounts& counts) {
  return "pass " + with_commas(counts.pass) + ", warning " + with_commas(counts.warning) + ", error " +
         with_commas(counts.error) + ", SKIP " + with_commas(counts.skip) + " (" + with_commas(counts.failed_to_run) +
         " failed to run, " + with_commas(counts.skipped_by_rule) + " by rule), suspicious " +
         with_commas(counts.suspicious());
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
      line("Written by", "another program: its " + plural(contents.recovery.metadata.size(), "byte") +
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
                        (print.contains("limits") ? ", limits " + option("limits") : "") + ", compat " +
                        option("compat"));
    line("Begun with", plain(get("threads")) + " threads on devices " + plain(get("devices")));
    line("Command", plain(get("command")));
  }

  void times(const JournalContents& contents) {
    if (contents.started) line("Begun", time_text(*contents.started));
    if (!contents.last_result) return;
    line("Results", "from " + time_text(*contents.first_result) + " to " + time_text(*contents.last_result) + ", " +
                        duration_text(*contents.last_result - *contents.first_result));
  }

  void results(const JournalContents& contents) {
    line("Calls", with_commas(contents.results.count()) + " of " + with_commas(contents.calls) +
                      " finished: " + counts_line(contents.counts));
    for (const auto& [device, counts] : contents.devices) {
      const bool none = device < 0;
      line(none ? "  no device" : "  device " + std::to_string(device),
           with_commas(counts.total() + counts.skip) + ": " + counts_line(counts));
    }
    if (contents.replaced > 0) {
      line("Replaced", plural(contents.replaced, "result") + " of calls that were run again");
    }
  }

  void size(const JournalContents& contents) {
    const journal::Recovery& recovery = contents.recovery;
    line("Records", with_commas(recovery.records) + " in " +
                        (recovery.frames == 1 ? "1 batch" : with_commas(recovery.frames) + " batches") + ", " +
                        plural(contents.attempt_notes, "note") + " of calls in flight among them");
    line("Size", plural(contents.disk_bytes, "byte") + ", " + with_commas(contents.recovery.uncompressed_bytes) +
                     " uncompressed; format " + std::to_string(recovery.version));
  }

  void damage(const JournalContents& contents) {
    const journal::Recovery& recovery = contents.recovery;
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
    if (recovery.damaged_regions > 0) {
      add(plural(recovery.damaged_bytes, "byte") + " in " + plural(recovery.damaged_regions, "place") +
          " are lost, the calls recorded there run again with -csv_path");
    }
    if (recovery.torn_tail) {
      add(plural(recovery.torn_bytes, "byte") + " at the end are torn" +
          (contents.writer ? ", or being written just now" : ": a batch that was not completed"));
    }
    if (contents.unreadable > 0) add(plural(contents.unreadable, "record") + " cannot be read");
    line("Damage", text.empty() ? "none" : text);
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string human_text(const JournalContents& contents) {
  Text text;
  text.line("Journal", contents.path);
  text.metadata(contents);
  text.times(contents);
  if (!contents.metadata.is_null()) text.results(contents);
  text.size(contents);
  text.damage(contents);
  text.line("Writer", contents.writer ? journal::holder_text(*contents.writer) : "none");
  return text.text();
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
          {"rounding_only", counts.rounding_only}};
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
          {"results", contents.results.count()},
          {"counts", counts_json(contents.counts)},
          {"devices", devices},
          {"replaced", contents.replaced},
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
            {"unreadable_records", contents.unreadable}}},
          {"writer", writer}};
}

// JSON has no words for these.
Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

void add_rows(Json& rows, const char* direction, const std::vector<DetailsRow>& details) {
  for (std::size_t i = 0; i < details.size(); ++i) {
    const DetailsRow& row = details[i];
    Json metrics = Json::object();
    for (std::size_t column = 0; column < row.cells.size(); ++column) {
      const Cell& cell = row.cells[column];
      if (cell.kind == Cell::Kind::blank) continue;
      metrics[row.columns->columns()[column].english] = number_json(cell.value);
    }
    rows.push_back({{"direction", direction},
                    {"output", i},
                    {"bench_dtype", row.bench_dtype},
                    {"device_dtype", row.device_dtype},
                    {"shape", row.shape},
                    {"status", status_text(row.status)},
                    {"message", row.message},
                    {"metrics", std::move(metrics)}});
  }
}

Json result_json(const ApiResult& result) {
  Json rows = Json::array();
  add_rows(rows, "forward", result.forward_rows);
  add_rows(rows, "backward", result.backward_rows);
  const auto seconds = [](std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; };
  return {{"name", result.name},
          {"task", result.task},
          {"device", result.device < 0 ? Json(nullptr) : Json(result.device)},
          {"forward", status_text(result.forward)},
          {"backward", result.backward ? Json(status_text(*result.backward)) : Json(nullptr)},
          {"outcome", outcome_text(result.outcome)},
          {"tested_on", result.tested_on == TestedOn::unknown ? Json(nullptr) : Json(tested_on_text(result.tested_on))},
          {"message", result.message},
          {"suspicious", is_suspicious(result)},
          {"inputs", result.inputs == 0 ? Json(nullptr) : Json(hexadecimal(result.inputs))},
          {"seconds",
           {{"materialise", seconds(result.times.materialise)},
            {"device", seconds(result.times.device)},
            {"benchmark", seconds(result.times.benchmark)},
            {"compare", seconds(result.times.compare)}}},
          {"rows", std::move(rows)}};
}

// In dump order.
void write_results(const StoredResults& results, const std::function<bool(const std::string&)>& write) {
  for (std::uint32_t task = 0; task < results.tasks(); ++task) {
    if (!results.has(task)) continue;
    if (!write(line_of(result_json(results.get(task))))) return;
  }
}

// A descriptor that is written to until its reader goes away: then it has read enough.
class Stream {
 public:
  Stream(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  bool write(std::string_view text) {
    buffer_ += text;
    return buffer_.size() < (std::size_t{64} << 10) || flush();
  }

  bool flush() {
    std::string_view rest = buffer_;
    while (!rest.empty() && !closed_) {
      const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno != EPIPE)
        throw UserError(name_ + " cannot be written: " + std::generic_category().message(errno) + ".");
      closed_ = count < 0;
      if (!closed_) rest.remove_prefix(static_cast<std::size_t>(count));
    }
    buffer_.clear();
    return !closed_;
  }

 private:
  int descriptor_;
  std::string name_;
  std::string buffer_;
  bool closed_ = false;
};

Stream stdout_stream() { return {STDOUT_FILENO, "stdout"}; }

void export_to_stream(const JournalContents& contents, Stream out) {
  write_results(contents.results, [&](const std::string& line) { return out.write(line); });
  out.flush();
}

void export_to_file(const JournalContents& contents, const std::string& path) {
  check_path_text(path);
  std::error_code ignored;
  if (fs::equivalent(path, contents.path, ignored)) throw UserError("--export: " + path + " is the journal itself.");
  // Pipes and devices cannot be replaced whole.
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) && !fs::is_directory(path, ignored)) {
    const UniqueFd stream(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!stream) {
      throw UserError("The file " + path + " cannot be opened: " + std::generic_category().message(errno) + ".");
    }
    export_to_stream(contents, {stream.get(), "The file " + path});
    return;
  }
  AtomicFile file(path);
  write_results(contents.results, [&](const std::string& line) {
    file.write(line);
    return true;
  });
  file.commit();
}

void export_to_stdout(const JournalContents& contents) {
  export_to_stream(contents, stdout_stream());
  const journal::Recovery& recovery = contents.recovery;
  if (recovery.damaged_bytes + recovery.torn_bytes + contents.unreadable > 0) {
    std::cerr << "msrun: " << contents.path << " is damaged: " << plural(recovery.damaged_bytes, "byte")
              << " in the middle, " << plural(recovery.torn_bytes, "byte") << " at the end, "
              << plural(contents.unreadable, "unreadable record") << ".\n";
  }
}

}  // namespace

std::variant<JournalOptions, PrintAndExit> parse_journal_options(const std::vector<std::string>& words) {
  auto parsed = parse_arguments(description(), words);
  if (auto* text = std::get_if<PrintAndExit>(&parsed)) return std::move(*text);
  const Arguments& arguments = std::get<Arguments>(parsed);
  if (arguments.operands().empty() || arguments.operands().front().empty()) {
    throw UserError("msrun journal needs the journal of a run; usage: " + std::string(usage));
  }
  JournalOptions options;
  options.path = arguments.operands().front();
  options.json = arguments.given("json");
  if (arguments.given("export")) {
    options.export_path = arguments.text("export");
    if (options.export_path.empty()) throw UserError("--export needs a file, or - for stdout");
  }
  if (options.json && options.export_path == "-") throw UserError("--json and --export - exclude each other");
  return options;
}

int show_journal(const JournalOptions& options) {
  const JournalContents contents = read_journal(journal_of(options.path));
  if (options.export_path == "-") {
    export_to_stdout(contents);
    return exit_completed;
  }
  std::string exported;
  if (!options.export_path.empty()) {
    export_to_file(contents, options.export_path);
    exported = "Exported      " + plural(contents.results.count(), "result") + " to " + options.export_path + "\n";
  }
  Stream out = stdout_stream();
  out.write(options.json ? line_of(whole_json(contents), 1) : human_text(contents) + exported);
  out.flush();
  return exit_completed;
}

}  // namespace msrun
