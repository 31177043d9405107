#include "orchestrator/merge/merge.h"

#include <cerrno>
#include <exception>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "journal/error.h"
#include "journal/writer.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/results_on_stdout.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "orchestrator/command/journal_command.h"
#include "orchestrator/merge/merge_report.h"
#include "orchestrator/merge/merged_csvs.h"
#include "orchestrator/merge/merged_results.h"
#include "orchestrator/merge/part_journal.h"
#include "orchestrator/output/rank_csvs.h"
#include "orchestrator/session/new_files.h"

namespace msrun {
namespace {

// A result that passes adds no row to it, unless it is suspicious all the same.
void add_all(const TaskResults& results, Summary& summary) {
  for (std::uint32_t task = 0; task < results.tasks(); ++task) {
    if (!results.has(task)) continue;
    ApiResult result = results.outline(task);
    if (overall_status(result) != Status::pass || is_suspicious(result)) results.get(task, result);
    summary.add(result);
  }
}

std::vector<std::string> paths_of(const std::vector<PartJournal>& parts) {
  std::vector<std::string> paths;
  for (const PartJournal& part : parts) paths.push_back(part.path);
  return paths;
}

// Those of a run over several, all of which its header names; empty for a run over one recording. Throws UserError.
RankList ranks_of(const MergedResults& results, const PartJournal& part) {
  RankList ranks = results.ranks();
  const auto named = part.metadata.find("recordings");
  const std::size_t wanted = named == part.metadata.end() ? 0 : named->size();
  if (ranks.size() == wanted) return ranks;
  if (ranks.size() > wanted) {
    throw UserError(part.path + " and the journals with it have records of " + std::to_string(ranks.size()) +
                    " ranks, of which their headers name " + std::to_string(wanted) + ": they are damaged.");
  }
  throw UserError(part.path + " and the journals with it lack the records of " + std::to_string(wanted - ranks.size()) +
                  " of " + std::to_string(wanted) + " ranks: they are damaged; continue one of them with -csv_path.");
}

int exit_code_of(const Merged& merged) {
  if (merged.finished < merged.calls) return exit_incomplete;
  for (const Disagreement& disagreement : merged.disagreements) {
    if (!disagreement.one_failed) return exit_fail_on;
  }
  return merged.summary.counts().compared() == 0 ? exit_fail_on : exit_completed;
}

// All of it but what is told. Throws journal::WriteError or WriteError where results cannot be written.
void write_merged(Merged& merged, const CsvStyle& style, journal::Writer& journal) {
  MergedResults results(merged.calls, journal);
  RecordBatches batches(paths_of(merged.parts));
  for (PartJournal& part : merged.parts) results.add(part, batches);
  results.finish();
  journal.close();
  merged.finished = results.count();
  const RankList ranks = ranks_of(results, merged.parts.front());
  merged.overlapping = results.overlapping();
  merged.disagreements = results.disagreements();
  // At the same time, or where no thread can be had, afterwards.
  std::future<void> counted =
      std::async(std::launch::async | std::launch::deferred, [&] { add_all(results, merged.summary); });
  write_merged_csvs(merged.files, style, results, ranks);
  counted.get();
  merged.ranks = count_by_rank(ranks, results);
}

// As of a run that has begun: there is nothing to be mended but the disk.
int stopped_by(const std::exception& error) {
  write_error_line(std::string("msrun: ") + sanitised(error.what()));
  return exit_incomplete;
}

}  // namespace

int merge_journals(const MergeOptions& options) {
  Merged merged;
  merged.program = options.program;
  merged.parts = open_parts(journals_of(options.paths), merged.left_out);
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
  try {
    write_merged(merged, style, *journal);
  } catch (const journal::WriteError& error) {
    return stopped_by(error);
  } catch (const WriteError& error) {
    return stopped_by(error);
  }
  new_journal.keep();
  const int code = exit_code_of(merged);
  print_beside_files("msrun", options.json ? merge_json(merged, code) : merge_text(merged));
  return code;
}

}  // namespace msrun
