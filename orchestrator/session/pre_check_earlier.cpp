// What a pre-check that continues an earlier run takes over from it, and what it tells of it.
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "kernels/base/counted.h"
#include "orchestrator/session/pre_check_job.h"
#include "runner/dialects/error_data.h"
#include "runner/results/counts.h"
#include "runner/results/rank_calls.h"

namespace msrun {
namespace {

// Paths relative to the folder, in which each of several ranks has one of its own.
std::set<std::string> files_below(const std::string& folder, std::error_code& error) {
  namespace fs = std::filesystem;
  std::set<std::string> files;
  const std::size_t above = folder.size() + (folder.ends_with('/') ? 0 : 1);
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    files.insert(entry->path().string().substr(above));
  }
  return files;
}

}  // namespace

void PreCheckJob::restore(const Options& options, const Plan& plan, StoredResults earlier) {
  std::size_t again = 0;
  std::size_t unsaved = 0;
  results_->restore(std::move(earlier), [&](const ApiResult& result) {
    const bool is_skip = result.forward == Status::skip || result.backward == Status::skip;
    const bool by_rule = plan.view().tasks[result.task].skip_size > 0;
    const bool runs_again = options.retry_skip && is_skip && !by_rule;
    if (runs_again) ++again;
    // Nothing of leases that are finished runs again.
    const bool saves_again = error_data_ && !options.steal && !result.unsaved.empty();
    if (saves_again) ++unsaved;
    return runs_again || saves_again;
  });
  for (std::uint32_t task = 0; task < plan.size(); ++task) earlier_.push_back(results_->is_done(task));
  if (unsaved > 0) spdlog::info("{} calls whose tensors could not be saved run again.", unsaved);
  if (options.retry_skip) spdlog::info("--retry-skip: {} calls that were SKIP run again.", again);
}

// The journal is what counts: that the CSVs cannot be written is no reason to remove one that was just made of them.
void PreCheckJob::show_earlier() {
  std::vector<std::string> kept;
  try {
    kept = results_->rewrite_and_open_csvs(is_imported_ ? SetAside::Matters::rows : SetAside::Matters::calls);
  } catch (const WriteError&) {
    new_journal_.keep();
    throw;
  }
  new_journal_.keep();
  std::string text;
  for (const std::string& note : notes_) text += (text.empty() ? "" : " ") + note;
  if (!kept.empty()) {
    text += (text.empty() ? "" : " ") + std::string("The CSVs are kept as they were, in ") + files_.directory + " as ";
    for (const std::string& name : kept) text += (name == kept.front() ? "" : " and ") + name;
    text += is_imported_ ? ", until everything in them is in the new ones."
                         : ", until the new ones have all of their calls: the journal does not.";
  }
  if (!text.empty()) spdlog::warn("{}", text);
}

// What was checked without -save_error_data is not checked again for its tensors, and nobody would look for them.
void PreCheckJob::warn_of_tensors_not_kept(const Plan& plan) const {
  if (!error_data_) return;
  std::error_code error;
  const std::set<std::string> files = files_below(error_data_->path(), error);
  if (error) {
    spdlog::warn("{} cannot be read to its end ({}): whether the tensors of the earlier run are kept is not known.",
                 error_data_->path(), error.message());
    return;
  }
  std::size_t missing = 0;
  results_->for_each_outline([&](const ApiResult& result) {
    const bool is_kept = plan.dialect().keeps_error_data(result) && result.forward != Status::skip;
    if (!is_kept || result.outcome == Outcome::failed_to_run || !result.unsaved.empty()) return;
    const std::string rank(rank_in(result.name));
    const std::string place = rank.empty() ? "" : rank + "/";
    const std::string prefix = error_data_prefix(std::string(without_rank(result.name)));
    const auto is_there = [&](const std::string& begin) {
      const auto first = files.lower_bound(begin);
      return first != files.end() && first->starts_with(begin);
    };
    // Where the device that was to check a call refused it, another one has checked it.
    if (!is_there(place + prefix) && !is_there(place + error_data_device(result.device) + "/" + prefix)) ++missing;
  });
  if (missing == 0) return;
  spdlog::warn(
      "{} of the earlier run did not pass or {} suspicious, and {} no tensors in {}: {}.", counted(missing, "call"),
      missing == 1 ? "is" : "are", missing == 1 ? "has" : "have", error_data_->path(),
      tensors_were_kept_ ? "what was saved of them is no longer there" : "they were checked without -save_error_data");
}

// For views that show what is wrong with the whole run, not with what is checked now.
void PreCheckJob::tell_earlier(const SessionState& session) const {
  std::vector<std::uint32_t> wrong;
  results_->for_each_outline([&](const ApiResult& result) {
    const bool unchecked = result.outcome == Outcome::failed_to_run || result.outcome == Outcome::not_checkable;
    if (unchecked || is_suspicious(result)) wrong.push_back(result.task);
  });
  for (const std::uint32_t task : wrong) session.stdout_view.earlier_result(results_->result(task));
}

void PreCheckJob::put_suspects_last(const Plan& plan, SupervisorOptions& supervision) const {
  for (const std::uint32_t task : attempts_.suspects(2)) {
    if (task < plan.size() && !results_->is_done(task)) supervision.last_and_alone.push_back(task);
  }
  if (!supervision.last_and_alone.empty()) {
    spdlog::warn(
        "{} calls were in flight when a run died, twice or more; they are run last and alone. The first is {}.",
        supervision.last_and_alone.size(), plan.view().title(supervision.last_and_alone.front()));
  }
}

}  // namespace msrun
