// The plan: what is to be checked, made in one pass over dump.json or the older tool's pair of files. Forward entries
// are paired with their backward, filtered, costed, and laid out as one immutable blob that the runners share.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runner/dialects/dialect.h"
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

class Plan {
 public:
  // Reads path. Throws UserError for a file that is no dump, or that of a framework without a dialect.
  static Plan read(const std::string& path, const PlanOptions& options);

  // Reads forward_info and backward_info of the older tool (acc_check_pytorch.md 3.1); backward may be empty. Throws
  // UserError for files that are not such a pair.
  static Plan read_att(const std::string& forward, const std::string& backward, const PlanOptions& options);

  const PlanView& view() const { return view_; }
  std::size_t size() const { return view_.tasks.size(); }
  const Dialect& dialect() const { return *dialect_; }
  // Tensors are in files.
  bool real_data() const { return real_data_; }
  // The folder that the names of these files are relative to; it need not exist.
  const std::filesystem::path& tensor_folder() const { return tensor_folder_.path; }
  // The folder that these files must lie in unless the user allows otherwise.
  const std::filesystem::path& trusted_folder() const { return tensor_folder_.within; }
  // Hash of all planned calls in order: the same dump and filter give the same value wherever the file lies.
  std::uint64_t fingerprint() const { return fingerprint_; }
  const RecordingContents& contents() const { return contents_; }
  // What was dropped as duplicates, in the order of the dump.
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
  // Notes what the header tells of the recording.
  void see(const DumpHeader& header);
  // Copies records and bytes into shared memory.
  void lay_out(const std::vector<PlanRecord>& records, const std::string& bytes, const std::string& path);

  boost::interprocess::mapped_region region_;
  PlanView view_;
  const Dialect* dialect_ = nullptr;
  bool real_data_ = false;
  TensorFolder tensor_folder_;
  std::uint64_t fingerprint_ = 0;
  RecordingContents contents_;
  std::vector<RepeatedCall> repeated_;
  std::vector<std::string> unmet_patterns_;
  std::string refusal_;
  std::vector<std::string> warnings_;
};

}  // namespace msrun
