#include "tools/runs/run.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <system_error>
#include <utility>

#include "journal/error.h"
#include "journal/file.h"
#include "journal/replaceable.h"
#include "kernels/base/error.h"
#include "kernels/base/json_text.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/apart.h"
#include "kernels/io/files/named_output.h"
#include "kernels/io/files/paths.h"
#include "runner/results/journal_records.h"
#include "runner/results/newest_run.h"
#include "runner/results/run_header.h"
#include "runner/results/run_of_rank.h"
#include "tools/runs/csv_files.h"

namespace msrun::runs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool has_files(const RunFiles& files) { return path_exists(files.journal) || path_exists(files.result); }

class JournalReading {
 public:
  explicit JournalReading(Run& run) : run_(run) {}

  void read() {
    const std::unique_ptr<journal::Source> source = journal::open_source(run_.files.journal);
    read_header(*source);
    RecordHandlers handlers;
    handlers.result = [this](ApiResult&& result) { see(result); };
    handlers.time = [this](const TimeNote& note) { run_.ended = note.time; };
    handlers.rank = [this](RankCalls&& calls) { see(std::move(calls)); };
    handlers.unreadable = [this](const std::string&) { ++unreadable_; };
    const journal::Recovery recovery = read_records(*source, handlers);
    if (!run_.rank.empty()) take_rank();
    const std::string losses = losses_text(recovery, unreadable_);
    if (losses.empty()) return;
    run_.notes.push_back(sanitised(run_.files.journal) + " is damaged (" + losses + "): results may be missing.");
  }

 private:
  void read_header(const journal::Source& source) {
    std::optional<RunHeader> header = read_run_header(source);
    if (!header) throw UserError(sanitised(run_.files.journal) + " is not the journal of a run of msrun");
    run_.metadata = *std::move(header);
    run_.started = started_at(run_.metadata);
    const std::uint64_t calls = planned_calls(run_.metadata).value_or(0);
    run_.planned = part_of_run(run_.metadata).calls.value_or(calls);
    most_ = calls + kept_results(run_.metadata).value_or(0);
  }

  void see(RankCalls&& calls) {
    if (calls.rank == run_.rank && calls.is_within(run_.planned)) calls_ = std::move(calls);
  }

  // The records of the ranks stand in front of the results.
  bool is_of_other_rank(std::uint32_t task) const { return !run_.rank.empty() && (!calls_ || !calls_->has(task)); }

  void take_rank() {
    if (!calls_) {
      throw UserError(sanitised(run_.files.journal) + " does not say which calls are those of " + sanitised(run_.rank) +
                      ": give the journal itself, for all ranks.");
    }
    run_.results = results_of_rank(run_.results, *calls_);
    run_.planned = calls_->size();
    run_.metadata = header_of_rank(std::move(run_.metadata), run_.rank);
  }

  void see(const ApiResult& result) {
    if (result.task >= most_) {
      ++unreadable_;
      return;
    }
    if (is_of_other_rank(result.task)) return;
    StoredResults& results = run_.results;
    if (results.tasks() <= result.task) {
      results.resize(std::min<std::size_t>(most_, std::max<std::size_t>(1024, std::size_t{result.task} * 2)));
    }
    results.put(result);
  }

  Run& run_;
  std::uint64_t most_ = 0;
  std::uint64_t unreadable_ = 0;
  std::optional<RankCalls> calls_;  // of the rank
};

void read_csvs(Run& run) {
  CsvRun csv = read_csv_run(run.files.result, run.files.details);
  run.notes = std::move(csv.notes);
  run.judges_rounding = csv.judges_rounding;
  run.has_details = csv.has_details;
  run.planned = csv.results.size();
  run.results.resize(csv.results.size());
  for (const ApiResult& result : csv.results) run.results.put(result);
}

// The header of the journal; null where it cannot be read, which whoever reads the journal tells.
Json header_of(const RunFiles& files) {
  try {
    Json header = parsed_json<Json>(journal::read_header(*journal::open_source(files.journal)).metadata);
    if (header.is_object()) return header;
  } catch (const journal::Error&) {
    return {};
  }
  return {};
}

// The file beside path whose name says `to` where its own says `from`, the last time it does; empty if it does not.
std::string counterpart(const std::string& path, std::string_view from, std::string_view to) {
  const std::size_t name = path.rfind('/') + 1;
  const std::size_t place = path.rfind(from);
  if (place == std::string::npos || place < name) return {};
  return std::string(path).replace(place, from.size(), to);
}

// The run that a file under a name of its own stands for: a journal, or the result and the details of another tool,
// such as api_precision_compare, that differ in these words. A file that has no counterpart is a result file.
RunFiles files_of_any_name(const std::string& path) {
  RunFiles files;
  files.directory = fs::path(path).parent_path().string();
  files.report = fs::path(path).replace_extension().string() + "_report.html";
  if (!path.ends_with(".csv")) {
    files.journal = path;
    return files;
  }
  const std::string result = counterpart(path, "details", "result");
  if (!result.empty() && path_exists(result)) {
    files.result = result;
    files.details = path;
    files.report = fs::path(result).replace_extension().string() + "_report.html";
    return files;
  }
  files.result = path;
  files.details = counterpart(path, "result", "details");
  return files;
}

// What the name of another tool's result file ends with, from the time on, which sorts as the files' ages do; empty if
// it is no such name.
std::string stamp_of_other_tool(const std::string& name) {
  static const std::regex form(R"(.+_result_(\d{14})\.csv)");
  std::smatch match;
  return std::regex_match(name, match, form) ? match[1].str() : std::string();
}

// The newest run in a folder; where there is none, another tool's newest result file. One of several parts is not taken
// for the run: what it says of its calls is not true of the others.
RunFiles newest_in(const std::string& folder) {
  std::set<std::string> stamps;
  std::optional<RunFiles> other;
  std::string other_stamp;
  std::error_code error;
  const auto run_of = [&](const std::string& path) {
    const std::string stamp = stamp_of_other_tool(fs::path(path).filename().string());
    if (!stamp.empty() && stamp > other_stamp) {
      other_stamp = stamp;
      other = files_of_any_name(path);
    }
    std::optional<RunFiles> files = files_of_run_file(path);
    if (files && !has_files(*files)) files.reset();
    if (files) stamps.insert(files->stamp);
    return files;
  };
  std::optional<RunFiles> newest = newest_run(folder, run_of, error);
  if (!newest) newest = std::move(other);
  if (error) throw UserError("The directory " + sanitised(folder) + " cannot be read: " + error.message() + ".");
  if (!newest) {
    throw UserError("The directory " + sanitised(folder) +
                    " holds no run: no accuracy_checking_<time>.journal and no accuracy_checking_result_<time>.csv.");
  }
  if (is_of_part(*newest) && stamps.size() > 1) {
    const std::string& file = path_exists(newest->journal) ? newest->journal : newest->result;
    throw UserError("The newest run in the directory " + sanitised(folder) + " is of a part of a recording, " +
                    sanitised(file) + ": name that file, or make one run of all parts with msrun merge.");
  }
  return *std::move(newest);
}

}  // namespace

bool has_journal(const RunFiles& files) { return !files.journal.empty() && path_exists(files.journal); }

void check_apart_from_run(const std::string& option, const std::string& written, const RunFiles& files,
                          RunReport report) {
  const bool is_kept = report == RunReport::is_kept;
  check_apart(option, written,
              {{"the journal", files.journal},
               {"the result file", files.result},
               {"the details file", files.details},
               {"the report", is_kept ? files.report : std::string()}});
  require_replaceable(option, written, is_kept ? std::string() : files.report);
  require_file_output(option, written);
  if (written.empty() || !has_journal(files)) return;
  for (const std::string& path : files_read(header_of(files))) {
    check_apart(option, written, {{"what the run has read,", path}});
    check_outside_tensors(option, written, path);
  }
}

FoundRun find_run(const std::string& path) {
  check_path_text(path);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    FoundRun found{newest_in(path), {}};
    // The folder of a rank has CSVs alone, and what stands in them is less than the journal further up knows.
    if (std::optional<RunOfRank> of_rank = run_of_rank_csv(found.files.result)) {
      found.files.journal = std::move(of_rank->whole.journal);
      found.rank = std::move(of_rank->rank);
    }
    return found;
  }
  if (!path_exists(path))
    throw UserError("There is no run " + shell_quoted(sanitised(path)) +
                    ": neither a folder nor a file has that name.");
  FoundRun found;
  if (std::optional<RunOfRank> of_rank = run_of_rank_csv(path)) {
    found = {std::move(of_rank->own), std::move(of_rank->rank)};
    found.files.journal = std::move(of_rank->whole.journal);
  } else if (std::optional<RunFiles> files = files_of_run_file(path)) {
    found.files = *std::move(files);
  } else {
    return {files_of_any_name(path), {}};
  }
  if (fs::path(path).filename() == fs::path(found.files.result).filename()) found.files.result = path;
  if (!has_files(found.files)) {
    throw UserError(sanitised(path) + " is no run by itself: neither its journal nor its result file is beside it.");
  }
  return found;
}

Run read_run(const std::string& path) {
  Run run;
  run.path = path;
  FoundRun found = find_run(path);
  run.files = std::move(found.files);
  run.rank = std::move(found.rank);
  run.has_journal = has_journal(run.files);
  if (!run.has_journal) {
    read_csvs(run);
    return run;
  }
  try {
    JournalReading(run).read();
  } catch (const journal::Error& error) {
    throw UserError(sanitised(error.what()));
  }
  return run;
}

}  // namespace msrun::runs
