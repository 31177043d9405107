// Dialects: what the pre-check of one framework's recordings does differently from that of another's. A run asks the
// dialect of its dump; nothing outside of this folder asks for the name of a framework.
//
// What a dialect is made of lies in the rooms that know the matter: how dump.json is read in kernels/io/dump, how a
// call becomes tensors in kernels/evaluate, how results are judged and which columns the details file has in
// kernels/compare. A file of this folder binds them for one framework, and holds what is left: names, rules and files.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/api/operators.h"
#include "kernels/compare/choices/ties.h"
#include "kernels/compare/compare.h"
#include "kernels/compare/details_csv.h"
#include "kernels/evaluate/materialise.h"
#include "kernels/io/dump/dump_dialect.h"
#include "kernels/io/files/folder.h"
#include "runner/results/result.h"

namespace msrun {

struct Evaluation;
struct DeviceResult;

// What a comparison may have to know of the call.
struct ComparedCall {
  const Operator& op;
  const MaterialisedCall& call;
  const CompareOptions& options;
  bool fp8_input = false;

  // The first argument, by which it is judged what the call leaves open; null where there is none, or where the call
  // leaves nothing open.
  const Value* first_input() const {
    return keeps_order_of_ties(call.kwargs) ? nullptr : first_argument(op, call).value;
  }
};

// Where the files of a recording's tensors are.
struct TensorFolder {
  // What their names are relative to; it need not exist.
  std::filesystem::path path;
  // The folders that they must lie in, unless the user allows otherwise.
  std::vector<std::filesystem::path> within;
};

// Why a call is not run; no reason if it is.
struct Refusal {
  std::string reason;
  // A rule leaves it out, or the user's lists; otherwise nobody knows its operator, or its name is none of a call.
  bool by_rule = true;
  // What is said in place of a documented reason that speaks of something else; empty where that is right.
  std::string plain = {};
};

// How the results of a pre-check are judged and written: as the tool in use does it, as the old tool of 2023 meant it
// (att_layout.md), or as that wrote it, its known errors included.
enum class ReportLayout : std::uint8_t { current, att, att_raw };

class Dialect {
 public:
  virtual ~Dialect() = default;
  Dialect() = default;
  Dialect(const Dialect&) = delete;
  Dialect& operator=(const Dialect&) = delete;

  // Spellings of the framework in dump.json, in lower case; the first is the one that msrun uses.
  virtual std::span<const std::string_view> spellings() const = 0;

  // The frameworks that have the functions of the recording, as backends name them; "auto" takes the first.
  virtual std::span<const std::string_view> callable_with() const = 0;
  // Options of msrun that change nothing for such a recording, as they are written: whoever gives one is told.
  virtual std::span<const std::string_view> unheeded_options() const = 0;

  // --- The recording.

  // How dump.json names and describes calls.
  virtual const DumpDialect& dump() const = 0;
  // Whether the tensors of the recording are in files. Throws UserError for a header that does not say so.
  virtual bool has_tensor_files(const DumpHeader& header) const = 0;
  // recording is the path of dump.json. Asked only where there are such files.
  virtual TensorFolder tensor_folder(const std::filesystem::path& recording, const DumpHeader& header) const = 0;
  // Whether entries that dump() leaves out may be calls: the user is told of them, and a recording of nothing else is
  // no error.
  virtual bool leaves_out_calls() const = 0;

  // --- Which calls are checked. Names are without direction: "Functional.relu.0".

  // Whether the user's lists let a bare API name run.
  using IsListed = std::function<bool(std::string_view api)>;
  // Why acc_check does not run a call of this name; without a reason if it does.
  virtual Refusal check_refusal(const std::string& name, const IsListed& is_listed) const = 0;
  // Why run_overflow_check does not run a call of this name; without a reason if it does.
  virtual Refusal overflow_refusal(const std::string& name) const = 0;
  // Calls of a kind that run_overflow_check is not meant for: that it skips them is no news.
  virtual bool is_outside_of_overflow_check(std::string_view name) const = 0;
  // Why a backward entry without the forward of its call is SKIP; nothing where such an entry is passed over.
  virtual std::optional<std::string> lone_backward() const = 0;
  // Bare API names that acc_check never runs, whatever the lists say.
  virtual bool is_never_run(std::string_view api) const = 0;

  // --- Data.

  // The seed of runs for which the user has not chosen one.
  virtual std::uint64_t usual_seed() const = 0;
  // Throws SkipError where a value cannot be built; the text is the reason.
  virtual MaterialisedCall materialise(const ApiCall& call, const MaterialiseOptions& options) const = 0;
  // Words of the one random stream of a run that materialise takes for the call; 0 for one that it refuses.
  virtual std::uint64_t stream_words(const ApiCall& call, bool real_data) const = 0;

  // --- Judgement.

  // See compare_outputs() and compare_gradients() in kernels/compare/compare.h, whose contracts these have. The rows
  // have the columns of columns().
  virtual Comparison compare_outputs(const ComparedCall& of, const Value& bench, const Value& device) const = 0;
  virtual std::optional<Comparison> compare_gradients(const ComparedCall& of, const List& bench,
                                                      const List& device) const = 0;
  // Whether the framework's own tool differentiates through several outputs.
  virtual bool knows_several_outputs() const = 0;
  // Whether a call evaluated in its own dtypes has those that the framework gives its results.
  virtual bool knows_result_dtypes() const { return false; }
  // Those gradients of a call that are compared, of all, which are one per tensor in args, then one per tensor in
  // kwargs. compat: only those that the dialect's own tool compares.
  virtual List compared_gradients(const MaterialisedCall& call, const List& all, bool compat) const;
  // Whether to the framework's own tool a backward that cannot be run is a failure of the whole call.
  virtual bool fails_with_backward() const { return false; }
  // run_overflow_check takes an output for overflown on the device whose sum in float32 is no finite number; otherwise
  // one with such an element. compat: as the dialect's own tool does.
  virtual bool sums_overflow(bool /*compat*/) const { return false; }
  // The Message of the result file for a call whose verdicts and rows are in result.
  virtual std::string result_message(const ApiResult& result) const = 0;
  // Completes the result of a call that is SKIP as a whole (skip_result), of which these directions were recorded.
  virtual void complete_skip(ApiResult& result, bool has_forward, bool has_backward) const = 0;
  // The highest device id that -d may have.
  virtual int last_device() const = 0;

  // --- Files.

  // Columns of the details file.
  virtual const ColumnSet& columns() const = 0;
  // First bytes of the result file and of the details file.
  virtual std::string result_header() const;
  virtual std::string details_header(bool english_titles) const;
  // Whether a run can be continued from its files alone, without the journal.
  virtual bool is_in_its_files() const { return true; }
  // Whether the result file alone is enough for that: a details file that is missing is made anew.
  virtual bool may_lack_details() const { return false; }
  // Titles of the result file.
  virtual const std::array<std::string_view, 4>& result_titles() const = 0;
  // Appends the row of the result file, with its end. with_reasons: its Message says of warnings and errors why
  // (runner/results/reason.h); otherwise only of a SKIP, as in the files of the dialect's own tool.
  virtual void append_result(std::string& out, const ApiResult& result, bool with_reasons) const = 0;
  // Appends the rows of the details file, forward before backward; nothing for a result without rows.
  virtual void append_details(std::string& out, const ApiResult& result, int precision) const = 0;

  // Whether -save_error_data keeps the tensors of a call with this result.
  virtual bool keeps_error_data(const ApiResult& result) const;
  // The folder that -save_error_data makes; stamp is that of the CSVs, "20260131123000". Without the stamp in its name
  // runs share it.
  virtual std::string error_data_folder(const std::string& stamp, bool several_devices) const = 0;
  // Writes the tensors of a call that did not pass or is suspicious; result is what came of it. Slashes and control
  // characters of names become '_' and long names are cut, so that every file lies in the folder. Throws FileError for
  // a file that cannot be written.
  virtual void save_error_data(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                               const DeviceResult& device, const ApiResult& result) const = 0;
  // What the result file says of saving them, once that is done; empty: nothing.
  virtual std::string error_data_notice(const Folder& /*folder*/, const MaterialisedCall& /*call*/) const { return {}; }
};

const Dialect& pytorch_dialect();
const Dialect& mindspore_dialect();
const Dialect& mindtorch_dialect();

// The dialect that a recording has in another layout. Throws UserError for a framework without that layout.
const Dialect& dialect_in_layout(const Dialect& of_framework, ReportLayout layout);

// All of them; the first is that of dumps that do not tell their framework.
std::span<const Dialect* const> dialects();

// By any spelling, in lower case; nullptr if there is none.
const Dialect* find_dialect(std::string_view framework);

}  // namespace msrun
