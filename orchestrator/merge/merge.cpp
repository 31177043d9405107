#include "orchestrator/merge/merge.h"

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "journal/error.h"
#include "journal/writer.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/standard_output.h"
#include "kernels/io/files/folder.h"
#include "kernels/io/files/paths.h"
#include "orchestrator/command/journal_command.h"
#include "orchestrator/merge/merge_report.h"
#include "orchestrator/merge/merged_results.h"
#include "orchestrator/merge/part_journal.h"
#include "orchestrator/output/rank_csvs.h"
#include "orchestrator/session/new_files.h"

namespace msrun {
namespace {

// In dump order.
ResultSource source_of(const StoredResults& results, Summary& summary) {
  return [&results, &summary, task = std::uint32_t{0}, current = ApiResult()]() mutable -> const ApiResult* {
    while (task < results.tasks() && !results.has(task)) ++task;
    if (task == results.tasks()) return nullptr;
    current = results.get(task++);
    summary.add(current);
    return &current;
  };
}

// Those of a run over several, all of which its header names; empty for a run over one recording. Throws UserError.
RankList ranks_of(const MergedResults& results, const PartJournal& part) {
  RankList ranks;
  for (const auto& [number, calls] : results.ranks()) ranks.push_back(&calls);
  const auto named = part.metadata.find("recordings");
  const std::size_t wanted = named == part.metadata.end() ? 0 : named->size();
  if (ranks.size() == wanted) return ranks;
  throw UserError(part.path + " and the journals with it lack the records of " + std::to_string(wanted - ranks.size()) +
                  " of " + std::to_string(wanted) + " ranks: they are damaged; continue one of them with -csv_path.");
}

void write_csvs(const MergedResults& results, const RankList& ranks, const CsvStyle& style, Merged& merged) {
  const Folder folder(merged.files.directory);
  const ResultSource source = source_of(results.results(), merged.summary);
  if (ranks.empty()) return write_csv_files(folder, merged.files, style, source);
  while (source() != nullptr) {
    // Each is counted once.
  }
  write_rank_csvs(folder, merged.files.stamp, ranks, style, results.results());
  merged.ranks = count_by_rank(ranks, results.results());
}

int exit_code_of(const Merged& merged) {
  if (merged.finished < merged.calls) return exit_incomplete;
  for (const Disagreement& disagreement : merged.disagreements) {
    if (!disagreement.one_failed) return exit_fail_on;
  }
  return merged.summary.counts().total() == 0 ? exit_fail_on : exit_completed;
}

}  // namespace

int merge_journals(const MergeOptions& options) {
  Merged merged;
  merged.program = options.program;
  merged.parts = open_parts(journals_of(options.paths));
  merged.calls = calls_of(merged.parts.front());
  const CsvStyle style = csv_style_of(merged.parts.front());
  prepare_output_directory(options.out_path);
  const std::string metadata =
      merged_metadata(merged.parts).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  NewFile new_journal;
  std::optional<journal::Writer> journal;
  merged.files = fresh_run_files(options.out_path, [&](const RunFiles& files) {
    try {
      journal = journal::Writer::create(files.journal, metadata);
    } catch (const journal::WriteError& error) {
      if (error.code() != EEXIST) throw;
      return false;
    }
    new_journal.created(files.journal);
    return true;
  });
  MergedResults results(merged.calls, *journal);
  for (PartJournal& part : merged.parts) results.add(part);
  results.finish();
  journal->close();
  merged.finished = results.results().count();
  merged.overlapping = results.overlapping();
  merged.disagreements = results.disagreements();
  write_csvs(results, ranks_of(results, merged.parts.front()), style, merged);
  new_journal.keep();
  const int code = exit_code_of(merged);
  print_text(options.json ? merge_json(merged, code) : merge_text(merged));
  return code;
}

}  // namespace msrun
