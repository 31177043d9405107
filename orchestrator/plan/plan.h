// The plan: what is to be checked, made in one pass over dump.json, over those of several ranks, or the older tool's
// pair of files. Forward entries are paired with their backward, filtered, costed, and laid out as one immutable blob
// that the runners share.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/api/rank_pattern.h"
#include "orchestrator/plan/rank_files.h"
#include "runner/dialects/dialect.h"
#include "runner/results/rank_calls.h"
#include "runner/shared/plan_view.h"

namespace msrun {

class PlanBuilder;

struct PlanOptions {
  // Why a call of this name is not run, by its dialect or by the user's lists.
  std::function<Refusal(const Dialect& dialect, const std::string& full_name)> refusal;
  std::vector<std::string> only;    // glob patterns for full names (call_filter.h); empty: all
  std::vector<std::string> except;  // those of calls to leave out
  bool filter_duplicates = false;
  bool filter_compat = false;  // msProbe's rule for duplicates (acc_check_pytorch.md 5.5)
  bool stream_words = false;   // fill PlanRecord::stream_word
  // How results are judged and written.
  ReportLayout layout = ReportLayout::current;
  // That of a recording that does not tell it; empty: PyTorch, or what the types of its values tell.
  std::string framework;
  // Errors of a recording's header in upstream's own words, which name no file.
  bool upstream_errors = false;
  bool forward_only = false;  // leave out the backward entries
  bool keep_results = false;  // the recorded outputs and gradients as well, for the recorded backend
  AcrossRanks across_ranks = AcrossRanks::calls;
  // Calls that the device treats otherwise on some ranks: the same call is another one there.
  std::vector<RankedPattern> apart;
};

// What a recording holds, whatever is planned of it.
struct RecordingContents {
  std::size_t entries = 0;  // those of modules included
  std::size_t modules = 0;  // entries that the dialect leaves out: they are no calls
  std::size_t calls = 0;    // forward entries
  std::map<std::string, std::size_t, std::less<>> left_out_by_type;  // of them, by the first segment of the name
  // Its tensors are recorded as checksums alone: no value ranges to make them from, no files to read them from.
  bool only_checksums = false;
};

// A call that -f keeps, and the later ones that are equal to it and are left out.
struct RepeatedCall {
  std::string kept;
  std::vector<std::string> left_out;
};

// One of several ranks that are checked in one run.
struct PlannedRank {
  std::string path;  // of its dump.json
  RankCalls calls;
  std::uint32_t own = 0;          // of these, how many are checked with this rank's data
  std::uint64_t fingerprint = 0;  // of what is wanted of its recording
  bool real_data = false;
  TensorFolder tensor_folder;
  RecordingContents contents;
};

class Plan {
 public:
  // Reads path. Throws UserError for a file that is no dump, or that of a framework without a dialect.
  static Plan read(const std::string& path, const PlanOptions& options);

  // Reads the recordings of several ranks, which lie below folder. A call that several of them have (AcrossRanks) is
  // one task, with the data of the first rank that has it; how often a rank has it does not matter but that each rank
  // has as many tasks for it as calls. Real data is each rank's own. Throws UserError as read(), with a way around the
  // rank, and for ranks of different frameworks.
  static Plan read_ranks(const std::string& folder, const std::vector<RankFile>& files, const PlanOptions& options);

  // Reads forward_info and backward_info of the older tool (acc_check_pytorch.md 3.1); backward may be empty. Throws
  // UserError for files that are not such a pair.
  static Plan read_att(const std::string& forward, const std::string& backward, const PlanOptions& options);

  const PlanView& view() const { return view_; }
  std::size_t size() const { return view_.tasks.size(); }
  const Dialect& dialect() const { return *dialect_; }
  // The ranks of a plan of several; otherwise empty.
  const std::vector<PlannedRank>& ranks() const { return ranks_; }
  // Tensors are in files; of several ranks, those of one of them.
  bool real_data() const { return real_data_; }
  // Where these files are; of several ranks each says it.
  const TensorFolder& tensor_folder() const { return tensor_folder_; }
  // What it was recorded on; nothing is known of ranks that say different things.
  const RecordingOrigin& origin() const { return origin_; }
  // Hash of all planned calls in order: the same dump and filter give the same value wherever the file lies.
  std::uint64_t fingerprint() const { return fingerprint_; }
  const RecordingContents& contents() const { return contents_; }
  // What was dropped as duplicates, in the order of the dump; each rank drops its own.
  const std::vector<RepeatedCall>& repeated() const { return repeated_; }
  // Patterns that meet no call, a sentence each; and if no call is left, why: one line. Empty without patterns.
  const std::vector<std::string>& unmet_patterns() const { return unmet_patterns_; }
  const std::string& refusal() const { return refusal_; }
  // What the user should know about the dump; one sentence each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Task ids that are not in finished and not skipped by rule: by falling cost, or in dump order.
  std::vector<std::uint32_t> order(const std::vector<bool>& finished, bool dump_order) const;

 private:
  // Takes over what was built. path is that of the recording, for messages.
  static Plan of(PlanBuilder& builder, bool real_data, const std::string& path);
  // Copies records and bytes into shared memory.
  void lay_out(const std::vector<PlanRecord>& records, const std::string& bytes, const std::string& path);

  boost::interprocess::mapped_region region_;
  PlanView view_;
  const Dialect* dialect_ = nullptr;
  bool real_data_ = false;
  std::vector<PlannedRank> ranks_;
  TensorFolder tensor_folder_;
  RecordingOrigin origin_;
  std::uint64_t fingerprint_ = 0;
  RecordingContents contents_;
  std::vector<RepeatedCall> repeated_;
  std::vector<std::string> unmet_patterns_;
  std::string refusal_;
  std::vector<std::string> warnings_;
};

}  // namespace msrun
