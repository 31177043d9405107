#include "orchestrator/session/run_journal.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>

#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include "journal/error.h"
#include "journal/reader.h"
#include "kernels/base/error.h"
#include "kernels/base/json_text.h"
#include "kernels/base/text.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"
#include "orchestrator/session/input.h"
#include "orchestrator/session/run_identity.h"
#include "runner/results/journal_records.h"
#include "runner/results/run_header.h"

namespace msrun {
namespace {

void warn_of_losses(const journal::Recovery& recovery, const std::string& path) {
  for (const std::string& loss : losses_of(recovery, 0)) {
    spdlog::warn("{}: {}; the calls recorded there are checked again.", path, loss);
  }
  if (recovery.repeated_frames + recovery.displaced_frames > 0) {
    spdlog::warn("{}: {} batches are there more than once and {} are out of their place; each was read once, in order.",
                 path, recovery.repeated_frames, recovery.displaced_frames);
  }
}

// Where the calls of the whole recording are, whatever the options leave out.
class WholeRecording {
 public:
  struct Place {
    std::size_t rank = 0;      // in dump order
    std::uint32_t before = 0;  // planned calls ahead of it
  };

  explicit WholeRecording(const SessionState& session) {
    const Plan whole = read_whole_plan(session.options, session.recordings, false);
    std::uint32_t before = 0;
    for (std::uint32_t task = 0; task < whole.size(); ++task) {
      const std::string_view name = whole.view().name(task);
      places_.emplace(name, Place{task, before});
      if (before < session.plan.size() && session.plan.view().name(before) == name) ++before;
    }
  }

  const Place* find(const std::string& name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::string, Place> places_;
};

// What the journal of a run that was begun from CSVs keeps beside the results of its plan.
KeptResults placed(const SessionState& session, const StoredResults& kept) {
  KeptResults results;
  if (kept.count() == 0) return results;
  const WholeRecording whole(session);
  results.results.resize(kept.count());
  for (std::uint32_t i = 0; i < kept.tasks(); ++i) {
    if (!kept.has(i)) continue;
    ApiResult result = kept.get(i);
    const WholeRecording::Place* place = whole.find(result.name);
    result.task = static_cast<std::uint32_t>(results.before.size());
    results.results.put(result);
    results.before.push_back(place == nullptr ? static_cast<std::uint32_t>(session.plan.size()) : place->before);
  }
  // The lists of a recording that has changed since may disagree.
  for (std::size_t i = 1; i < results.before.size(); ++i) {
    results.before[i] = std::max(results.before[i], results.before[i - 1]);
  }
  return results;
}

EarlierErrorData error_data_of(const std::string& metadata) {
  const RunHeader header = parsed_json<RunHeader>(metadata);
  EarlierErrorData earlier;
  const auto options = options_in(header);
  earlier.kept = options && std::ranges::find(*options, OptionWords{"-save_error_data"}) != options->end();
  earlier.identity = text_in(header, "error_data");
  return earlier;
}

EarlierRun reopen_journal(const SessionState& session, const std::string& path) {
  // Locked first: what is read and what is continued are the same then.
  std::unique_ptr<journal::File> file = journal::open_file(path);
  const std::string metadata = journal::read_header(*file).metadata;
  require_same_run(metadata, session, path);
  warn_of_other_device(metadata, session, path);
  JournalledRun run = read_run(*file, session.plan.size(), kept_results(parsed_json<RunHeader>(metadata)).value_or(0));
  warn_of_losses(run.recovery, path);
  KeptResults others = placed(session, run.kept);
  return {journal::Writer::resume(std::move(file), run.recovery.valid_size, run.recovery.next_sequence),
          std::move(run.results),
          std::move(run.parts),
          std::move(run.attempts),
          std::move(others),
          {},
          false,
          error_data_of(metadata)};
}

// The rows of the result file, by whether their calls are planned.
struct SortedRows {
  std::vector<ApiResult> planned;
  std::vector<ApiResult> others;      // in dump order
  std::vector<std::uint32_t> before;  // of the others
};

SortedRows sort_rows(const SessionState& session, const RunFiles& files, std::vector<ApiResult> rows) {
  std::unordered_map<std::string_view, std::uint32_t> tasks;
  for (std::uint32_t task = 0; task < session.plan.size(); ++task) tasks.emplace(session.plan.view().name(task), task);
  const std::size_t all = rows.size();
  SortedRows sorted;
  for (ApiResult& result : rows) {
    const auto task = tasks.find(result.name);
    if (task != tasks.end()) result.task = task->second;
    (task == tasks.end() ? sorted.others : sorted.planned).push_back(std::move(result));
  }
  if (sorted.others.empty()) return sorted;
  const WholeRecording whole(session);
  std::size_t strangers = 0;
  std::string first;
  for (const ApiResult& result : sorted.others) {
    if (whole.find(result.name) == nullptr && strangers++ == 0) first = result.name;
  }
  if (strangers > 0) {
    throw UserError("-csv_path: " + std::to_string(strangers) + " of the " + std::to_string(all) + " rows of " +
                    files.result + " are of calls that are not in the dump (the first is " + first +
                    "): the file is of another dump. Nothing was changed.");
  }
  std::ranges::sort(sorted.others, {}, [&](const ApiResult& result) { return whole.find(result.name)->rank; });
  for (const ApiResult& result : sorted.others) sorted.before.push_back(whole.find(result.name)->before);
  return sorted;
}

// The files of a tool that keeps no journal: what its result file holds is finished.
EarlierRun import_run(const SessionState& session, const RunFiles& files, const CsvStyle& style, NewFile& new_file) {
  if (!session.plan.ranks().empty()) {
    throw UserError("-csv_path: there is no journal beside " + files.result +
                    ", from which alone a run over several ranks can be continued.");
  }
  if (!style.dialect->is_in_its_files()) {
    throw UserError("-csv_path: there is no journal beside " + files.result +
                    ", from which alone a run of this layout can be continued.");
  }
  if (!style.dialect->may_lack_details()) check_input_file(files.details, {".csv"}, max_csv_bytes, Access::read_write);
  ImportedCsv imported = import_csv(files.result, files.details, style);
  SortedRows rows = sort_rows(session, files, std::move(imported.results));
  std::optional<journal::Writer> journal =
      begin_journal(session, files.journal, style, new_file, {.kept = rows.others.size()});
  if (!journal) throw UserError(files.journal + " was just made by another run that continues " + files.result + ".");
  StoredResults results(session.plan.size());
  for (ApiResult& result : rows.planned) {
    const bool by_rule = session.plan.view().tasks[result.task].skip_by_rule;
    if (by_rule && result.outcome == Outcome::not_checkable) result.outcome = Outcome::skipped_by_rule;
    results.put(result);
    journal->append(encode(result));
  }
  KeptResults kept{StoredResults(rows.others.size()), std::move(rows.before)};
  for (std::uint32_t i = 0; i < rows.others.size(); ++i) {
    ApiResult& result = rows.others[i];
    result.task = i;
    kept.results.put(result);
    result.task += static_cast<std::uint32_t>(session.plan.size());
    journal->append(encode(result));
  }
  journal->flush();
  if (!rows.others.empty()) {
    spdlog::info("{}: {} rows are of calls that these options leave out; they stay as they are.", files.result,
                 rows.others.size());
  }
  return {*std::move(journal), std::move(results), {}, {}, std::move(kept), std::move(imported.notes), true, {}};
}

// What to do about a journal that nothing can be read from, if there are CSVs to go on with.
std::string way_out(const RunFiles& files, const std::string& reason) {
  std::error_code ignored;
  if (!std::filesystem::exists(files.result, ignored) || !std::filesystem::exists(files.details, ignored)) {
    return reason + "; nothing can be continued without it.";
  }
  return reason + "; move " + files.journal + " away, and -csv_path continues from what " + files.result +
         " and the details file beside it hold.";
}

// Rows below the titles; none if there is no file.
std::size_t rows_of(const std::string& csv) {
  std::error_code ignored;
  if (std::filesystem::status(csv, ignored).type() == std::filesystem::file_type::not_found) return 0;
  std::string bytes;
  try {
    InputFile file(csv, max_csv_bytes);
    bytes = rest_of(file);
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
  CsvReader reader(bytes);
  std::vector<std::string> row;
  std::size_t rows = 0;
  while (reader.next(row)) ++rows;
  return rows == 0 ? 0 : rows - 1;
}

EarlierRun continue_journal(const SessionState& session, const RunFiles& files) {
  std::optional<EarlierRun> run;
  try {
    run = reopen_journal(session, files.journal);
  } catch (const journal::EmptyFile& error) {
    throw UserError(way_out(files, error.what()));
  } catch (const journal::DamagedHeader& error) {
    throw UserError(way_out(files, error.what()));
  }
  if (run->results.count() + run->kept.before.size() > 0) return *std::move(run);
  const std::size_t rows = rows_of(files.result);
  if (rows == 0) return *std::move(run);
  throw UserError(way_out(
      files, files.journal + " holds no result, but " + files.result + " has " + std::to_string(rows) + " rows"));
}

}  // namespace

JournalledRun read_run(const journal::Source& journal, std::size_t tasks, std::uint64_t most_kept) {
  JournalledRun run;
  run.results.resize(tasks);
  std::map<std::uint32_t, std::vector<ResultPart>> parts;  // by task
  RecordHandlers handlers;
  // A call that ran again for its SKIP has several results: the last counts.
  handlers.result = [&](ApiResult&& result) {
    if (result.task < tasks) {
      parts.erase(result.task);
      return run.results.put(result);
    }
    result.task -= static_cast<std::uint32_t>(tasks);
    if (result.task >= most_kept) return;
    if (run.kept.tasks() <= result.task) run.kept.resize(std::max<std::size_t>(1024, std::size_t{result.task} * 2));
    run.kept.put(result);
  };
  handlers.part = [&](ResultPart&& part) { parts[part.result.task].push_back(std::move(part)); };
  handlers.attempt = [&](const AttemptNote& note) { run.attempts.see(note); };
  run.recovery = read_records(journal, handlers);
  for (auto& [task, of_task] : parts) std::ranges::move(of_task, std::back_inserter(run.parts));
  return run;
}

std::optional<journal::Writer> begin_journal(const SessionState& session, const std::string& path,
                                             const CsvStyle& style, NewFile& new_file, const MoreMetadata& more) {
  try {
    journal::Writer journal = journal::Writer::create(path, journal_metadata(session, style, more));
    new_file.created(path);
    for (const PlannedRank& rank : session.plan.ranks()) journal.append(encode(rank.calls));
    if (!session.plan.ranks().empty()) journal.flush();
    return journal;
  } catch (const journal::WriteError& error) {
    if (error.code() == EEXIST) return std::nullopt;
    throw;
  }
}

EarlierRun reopen_run(const SessionState& session, const RunFiles& files, const CsvStyle& style, NewFile& new_file) {
  std::error_code ignored;
  const bool has_journal = std::filesystem::exists(std::filesystem::symlink_status(files.journal, ignored));
  return has_journal ? continue_journal(session, files) : import_run(session, files, style, new_file);
}

}  // namespace msrun
