// The results of a run as they come in: journalled first, then shown in the CSVs, counted, and kept for the final
// rewrite in dump order.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/writer.h"
#include "orchestrator/output/csv.h"
#include "orchestrator/output/joined_results.h"
#include "orchestrator/output/rank_csvs.h"
#include "orchestrator/view/progress_view.h"
#include "orchestrator/view/summary.h"
#include "runner/results/record.h"
#include "runner/results/stored_results.h"

namespace msrun {

// Results of an earlier run that are no part of the plan, because it is asked for fewer calls than the recording has:
// they stay in the CSVs.
struct KeptResults {
  StoredResults results;              // by their place in dump order among each other
  std::vector<std::uint32_t> before;  // of each, how many tasks of the plan precede it in the dump
};

class ResultStore {
 public:
  // tasks: number of calls in the plan. devices: with more than one, every device also gets a pair of CSVs of its own.
  // The folder of the files is held open from here on, and nothing is written anywhere else; WriteError if it cannot
  // be opened. All references must outlive the store.
  ResultStore(std::size_t tasks, std::vector<int> devices, RunFiles files, CsvStyle style, journal::Writer& journal,
              ProgressView& view);
  // Without journal and CSVs: what is committed goes to the view alone.
  ResultStore(std::size_t tasks, ProgressView& view);
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;
  // Keeps the promise of sync_within() for a run that ends by an exception.
  ~ResultStore();

  // From now on commit() brings what is in the journal to the storage device as well, once for all that came within the
  // delay. Call commit() a few times per delay, whether or not there is something to commit.
  void sync_within(std::chrono::milliseconds delay) { sync_delay_ = delay; }

  // The results of the earlier run that is being continued: already in the journal. Those that run_again picks are left
  // out, so that their calls run again; it is asked without their rows. To be called before anything is added.
  void restore(StoredResults earlier, const std::function<bool(const ApiResult&)>& run_again);

  // Rows for the CSVs alone, which count nowhere: already in the journal.
  void keep(KeptResults kept) { kept_ = std::move(kept); }

  // The results are those of calls of these ranks: the CSVs are theirs (rank_csvs.h), and are written by finish()
  // alone. The ranks must outlive the store.
  void in_ranks(RankList ranks) { ranks_ = std::move(ranks); }
  std::vector<RankCounts> counts_by_rank() const { return count_by_rank(ranks_, stored_); }
  // Earlier files of ranks that finish() has kept, because they have rows of calls that the new ones lack.
  const std::vector<std::string>& kept_of_ranks() const { return kept_of_ranks_; }

  // From now on a call has a result once all devices have given their part, and add() takes parts, too. items is of
  // calls for all devices.
  void join(const WorkItems& items);
  // A part of a result that an earlier run left behind: already in the journal. Those of calls that have a result are
  // passed over. To be called behind restore(StoredResults), and before anything is added.
  void restore(const ResultPart& part);
  // The items of a call that have to run until it has its result, as far as is known.
  std::vector<std::uint32_t> missing(std::uint32_t task) const;
  // The missing checks on further devices that results since the last question have shown to be needed; one may be
  // named again.
  std::vector<std::uint32_t> newly_wanted();

  // Takes a result; it reaches the journal with the next commit(), and the CSVs with one about a second later. A second
  // result for the same task is dropped.
  void add(std::string_view encoded);
  void add(const ApiResult& result);
  void add(const ResultPart& part);

  // A record for the journal alone, with the next commit().
  void note(std::string record);

  // Journal first, then the CSVs as far as they are due. Throws journal::WriteError or WriteError; what was committed
  // before stands.
  void commit();

  // After commit() has failed, or when it is called no more: what it did not bring to the journal, or without one to
  // the view, counts no longer, as it is lost with this process.
  void drop_uncommitted();

  // Commits, and brings what is in the journal to the storage device.
  void make_durable();

  // Opens the CSVs to append to, unless they are those of ranks: fresh ones, or those of the earlier run, rewritten
  // from what was restored. Of what matters in the earlier ones nothing is lost: they are kept under the names that are
  // returned unless it is all in the new ones.
  void open_fresh_csvs();
  std::vector<std::string> rewrite_and_open_csvs(SetAside::Matters matters);

  // Commits what is left, closes the journal and renders all CSVs in dump order, those of the devices last. Files that
  // rewrite_and_open_csvs() kept are removed if all that matters in them is in the CSVs now. In between, journal_closed
  // is called, if there is a journal. WriteError also if the folder was moved or replaced meanwhile, although its files
  // are complete then.
  void finish(const std::function<void()>& journal_closed = {});

  // In dump order; an outline is without its rows.
  void for_each_outline(const std::function<void(const ApiResult&)>& visit) const;
  void for_each(const std::function<void(const ApiResult&)>& visit) const;
  bool is_done(std::uint32_t task) const { return stored_.has(task); }
  // That of a call which has one, with its rows.
  ApiResult result(std::uint32_t task) const { return stored_.get(task); }
  // That of the files; only of a store with files.
  const Folder& folder() const { return *folder_; }
  // Whether nothing more is to be done for the item, of a call or of one of its parts.
  bool is_item_done(std::uint32_t item) const;
  // What the numbers of items mean.
  const WorkItems& items() const { return items_; }
  std::size_t done() const { return stored_.count(); }
  std::size_t restored() const { return restored_; }
  const Summary& summary() const { return summary_; }
  // Totals over the results of this process.
  const PhaseTimes& times() const { return times_; }
  // Nanoseconds spent on journal and CSVs.
  std::uint64_t journal_time() const { return journal_time_; }
  std::uint64_t csv_time() const { return csv_time_; }

 private:
  // Results in dump order: all, or those of one device.
  ResultSource in_dump_order(int device) const;
  void add(ApiResult&& result, std::string_view encoded);
  void add(const ResultPart& part, std::string_view encoded);
  void summarise(const ApiResult& outline);
  void warn_of_unsaved(const ApiResult& result);
  void write_journal();
  void append_csvs();
  void sync_if_due();
  void close_journal();
  void close_csvs();
  void write_one_pair();
  void write_device_csvs() const;

  static constexpr int all_devices = -2;

  std::vector<int> devices_;
  RunFiles files_;
  std::optional<Folder> folder_;  // none without files
  CsvStyle style_;
  journal::Writer* journal_ = nullptr;
  ProgressView& view_;
  std::optional<CsvFiles> csvs_;
  std::vector<std::uint32_t> not_in_csvs_;  // tasks that are in the journal, as they came
  double csvs_appended_ = 0;                // by steady_seconds()
  std::optional<SetAside> aside_;
  StoredResults stored_;
  KeptResults kept_;
  RankList ranks_;  // empty: one recording
  std::vector<std::string> kept_of_ranks_;
  WorkItems items_;
  std::optional<JoinedResults> joined_;      // with calls for all devices
  std::vector<std::uint32_t> newly_wanted_;  // items
  bool has_new_parts_ = false;               // in unwritten_
  std::vector<ApiResult> forgone_;           // earlier results of calls that run again
  std::vector<ApiResult> uncommitted_;
  std::string unwritten_;  // these, encoded for the journal one behind the other
  std::vector<std::size_t> unwritten_sizes_;
  std::vector<std::string> notes_;  // not yet in the journal
  Summary summary_;
  PhaseTimes times_;
  std::size_t restored_ = 0;
  std::size_t unsaved_ = 0;     // calls of this process whose tensors could not be kept
  bool in_dump_order_ = false;  // so are the rows of the CSVs, and they are complete
  std::optional<std::chrono::milliseconds> sync_delay_;
  std::optional<double> unsynced_since_;  // by steady_seconds()
  double time_noted_ = 0;                 // by unix_seconds()
  std::uint64_t journal_time_ = 0;
  std::uint64_t csv_time_ = 0;
};

}  // namespace msrun
