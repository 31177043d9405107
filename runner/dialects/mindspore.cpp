// MindSpore and MindTorch: the dialects of acc_check as msProbe defines it for their dumps (acc_check_mindspore.md).
#include <algorithm>
#include <optional>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/compare/policies/column_sets.h"
#include "kernels/compare/policies/compare_mindspore.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/evaluate/materialise_mindspore.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/csv.h"
#include "kernels/tensor/mindspore_dtype.h"
#include "runner/device/device.h"
#include "runner/dialects/dialect.h"
#include "runner/dialects/error_data.h"
#include "runner/results/counts.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> mindspore_names{"mindspore", "ms"};
constexpr std::array<std::string_view, 1> mindtorch_names{"mindtorch"};

// One limit for all APIs and dtypes, titles in one language, and a generator for each tensor.
constexpr std::array<std::string_view, 4> mindspore_unheeded{"--standard", "--limits", "--titles", "--seed-mode"};

constexpr std::array<std::string_view, 1> mindspore_alone{"mindspore"};
// Names of torch, which MindSpore's mint has under its own.
constexpr std::array<std::string_view, 2> mindspore_or_torch{"mindspore", "torch"};

constexpr std::array<std::string_view, 4> mindspore_titles{"API Name", "Forward Test Success", "Backward Test Success",
                                                           "Message"};

constexpr const char* parse_failed =
    "[msprobe] Api Accuracy Checker parse json failed: check_and_get_from_json_dict failed: ";
constexpr std::string_view upstream_mark = "[msprobe]";
constexpr const char* wrong_api = "[msprobe] Api Accuracy Checker something wrong with api: ";
constexpr const char* wrong_name = "[msprobe] Api Accuracy Checker get wrong value: ";

// Its result is an array of numpy, which upstream does not compare (acc_check_mindspore.md 7.2).
bool gives_no_value(const ApiName& name) { return name.type == "Tensor" && name.api == "numpy"; }

// Upstream's text in the Message of a row, which may have further lines of msrun.
std::string_view first_line_of(const std::string& message) {
  return std::string_view(message).substr(0, message.find('\n'));
}

// A message as upstream writes it into its file, which does not say which file is missing; journal and events do.
std::string as_upstream(std::string message) {
  const std::string_view text = no_such_mindspore_file;
  for (std::size_t at = message.find(text); at != std::string::npos; at = message.find(text, at)) {
    at += text.size();
    const std::size_t next = message.find(upstream_mark, at);
    message.erase(at, next == std::string::npos ? next : next - at);
  }
  return message;
}

// The reason of a direction that was not compared; empty where it was, or had nothing to compare.
std::string_view skip_reason(const std::vector<DetailsRow>& rows) {
  const bool is_skip = std::ranges::none_of(rows, [](const DetailsRow& row) { return row.status != Status::skip; });
  return is_skip && !rows.empty() ? std::string_view(rows.front().message) : std::string_view();
}

std::string texts_of(const std::vector<DetailsRow>& rows) {
  std::string text;
  for (const DetailsRow& row : rows) {
    if (row.status == Status::error) text += first_line_of(row.message);
  }
  return text;
}

// That results of a direction are missing: nobody may take it for checked whole.
std::string uneven_results_of(const std::vector<DetailsRow>& rows) {
  for (const DetailsRow& row : rows) {
    if (const std::string_view line = uneven_results_line(row); !line.empty()) return std::string(line);
  }
  return {};
}

bool was_compared(const std::vector<DetailsRow>& rows) {
  return std::ranges::any_of(rows, [](const DetailsRow& row) { return row.status != Status::skip; });
}

// That a file holds something else than its dump says; empty if nothing is said of it.
std::string_view file_note_of(std::string_view message) {
  const std::size_t at = message.starts_with(file_note) ? 0 : message.find("\n" + std::string(file_note));
  if (at == std::string_view::npos) return {};
  const std::string_view line = message.substr(at == 0 ? 0 : at + 1);
  return line.substr(0, line.find('\n'));
}

// Upstream's text for an error; for a pass also why it is suspicious all the same, which upstream has no words for, and
// what was not compared; for each what is odd about the files.
std::string message_of(const DetailsRow& row) {
  const bool is_quiet = row.status == Status::pass && (row.beyond_rounding || !uneven_results_line(row).empty());
  std::string text = is_quiet ? row.message : std::string(first_line_of(row.message));
  while (text.ends_with('\n')) text.pop_back();
  const std::string note(file_note_of(row.message));
  if (text.find(note) == std::string::npos) text += (text.empty() || text.ends_with(' ') ? "" : " ") + note;
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

void append_mindspore_rows(std::string& out, const std::string& name, const std::vector<DetailsRow>& rows,
                           int precision) {
  std::size_t slot = 0;
  for (const DetailsRow& row : rows) {
    // A pass that is known from the result file alone is a status without cells.
    if (row.status == Status::skip || (row.status == Status::pass && row.columns == nullptr)) continue;
    append_csv_field(out, name + std::to_string(slot++));
    DetailsRow written = row;
    written.message = message_of(row);
    append_details_cells(out, written, mindspore_columns(), precision);
  }
}

std::string_view cell_of(Status status, const std::vector<DetailsRow>& rows) {
  return status == Status::pass && !was_compared(rows) ? "" : status_text(status);
}

// The one call whose documented benchmark is not in the dtypes of the recording (acc_check_mindspore.md 6.4).
bool has_wide_benchmark(const ApiName& name) {
  return name.type == "Functional" && name.api == "flash_attention_score";
}

// The result is the name of the argument's dtype, of which a raised one would make another.
bool names_its_dtype(const MaterialisedCall& call) {
  return call.parts.type == "Tensor" && call.parts.api == "type" && call.args.size() == 1 && call.kwargs.empty() &&
         call.args.front().is<Tensor>();
}

// The tensors of a value in other dtypes.
class Rounding {
 public:
  explicit Rounding(const ComparedCall& of)
      : of_(of), plan_(plan_raise(of.call, of.op.traits())), is_rounded_(plan_.raised && !of.call.benchmark_dtype) {}

  // As a computation in the dtypes of the recording gives them. It would differ from the device's in its dtype only
  // where the operator itself chooses that; then it is run.
  List outputs(const List& bench, const List& device) {
    List rounded = bench;
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      const Tensor* tensor = rounded[i].get<Tensor>();
      // Of a call that names its dtype the benchmark may be wider than raised arguments are.
      if (tensor == nullptr || !is_rounded_) continue;
      if (tensor->dtype() != *plan_.raised && tensor->dtype() != DType::float64) continue;
      const DType usual = plan_.mixed ? DType::float32 : *plan_.base;
      const Tensor* theirs = i < device.size() ? device[i].get<Tensor>() : nullptr;
      const bool is_usual = theirs != nullptr && theirs->dtype() == usual;
      rounded[i] = tensor->to(is_usual ? usual : recorded_dtype(i).value_or(usual));
    }
    return rounded;
  }

  // Gradients have the dtypes of their arguments.
  List gradients(const List& bench) const {
    std::vector<DType> dtypes;
    for_each_argument(of_.call, [&](const Tensor& tensor) { dtypes.push_back(tensor.dtype()); });
    List rounded = bench;
    for (std::size_t i = 0; i < rounded.size() && i < dtypes.size(); ++i) {
      if (const Tensor* tensor = rounded[i].get<Tensor>()) rounded[i] = tensor->to(dtypes[i]);
    }
    return rounded;
  }

 private:
  std::optional<DType> recorded_dtype(std::size_t slot) {
    if (!recorded_) {
      recorded_.emplace();
      MaterialisedCall forward = of_.call;
      forward.backward.run = false;
      try {
        recorded_ = mindspore_slots(evaluate(of_.op, forward, {}).output);
      } catch (const SkipError&) {
        // There is no memory for it beside the benchmark.
      }
    }
    const Tensor* tensor = slot < recorded_->size() ? (*recorded_)[slot].get<Tensor>() : nullptr;
    return tensor == nullptr ? std::nullopt : std::optional(tensor->dtype());
  }

  const ComparedCall& of_;
  RaisePlan plan_;
  bool is_rounded_;
  std::optional<List> recorded_;
};

// Which elements are zero is random: one row says whether the shares of zeros are alike.
Comparison compare_random(const ComparedCall& of, const Value& bench, const Value& device) {
  Comparison comparison =
      compare_outputs(of.call.name, of.op.traits(), bench, device, of.fp8_input, of.options, nullptr);
  DetailsRow row(mindspore_columns());
  const List slots = mindspore_slots(device);
  if (const Tensor* tensor = slots.empty() ? nullptr : slots.front().get<Tensor>()) {
    row.shape = tuple_text(tensor->shape());
    row.bench_dtype = row.device_dtype = mindspore_name(tensor->dtype());
  }
  row.status = comparison.status;
  row.message = "Only the shares of zeros are compared.\n";
  if (comparison.by_chance) {
    row.rounding_only = true;
    row.message += "They differ by no more than chance makes them.\n";
  }
  comparison.rows = {row};
  comparison.pairs.resize(1);
  return comparison;
}

class MindSpore final : public Dialect {
 public:
  MindSpore(std::span<const std::string_view> names, std::span<const std::string_view> callable_with,
            const DumpDialect& dump)
      : names_(names), callable_with_(callable_with), dump_(dump) {}

  std::span<const std::string_view> spellings() const override { return names_; }
  std::span<const std::string_view> callable_with() const override { return callable_with_; }
  const DumpDialect& dump() const override { return dump_; }
  std::span<const std::string_view> unheeded_options() const override { return mindspore_unheeded; }

  bool has_tensor_files(const DumpHeader& header) const override {
    const std::string field = std::string(parse_failed) + "task field in api_info.json is ";
    if (header.task_is_no_text) throw UserError(field + "not accepted type: <class 'str'>");
    if (header.task.empty()) throw UserError(field + "missing");
    if (header.task == "statistics") return false;
    if (header.task != "tensor") throw UserError(field + "not accepted value: ('tensor', 'statistics')");
    if (header.empty_data_dir) return false;
    if (header.dump_data_dir.empty()) {
      throw UserError(std::string(parse_failed) + "dump_data_dir field in api_info.json is missing");
    }
    return true;
  }

  // What the recording names, first beside it: the working directory may hold the files of another one.
  TensorFolder tensor_folder(const fs::path& recording, const DumpHeader& header) const override {
    const fs::path named = header.dump_data_dir;
    std::error_code ignored;
    const fs::path home = fs::weakly_canonical(recording, ignored).parent_path();
    const std::vector<fs::path> within = folders_of_recording(recording);
    for (const fs::path& folder : {recording.parent_path() / named, home / named}) {
      if (fs::is_directory(folder, ignored)) return {folder, within};
    }
    return {fs::is_directory(named, ignored) ? named : recording.parent_path() / named, within};
  }
  bool leaves_out_calls() const override { return true; }

  Refusal check_refusal(const std::string& name, const IsListed& is_listed) const override {
    const std::optional<ApiName> parts = ApiName::parse(name);
    if (!parts) return {wrong_name, false};
    if (!is_listed(parts->api)) return {"API " + parts->api + " in black list or not in white list. SKIP."};
    if (gives_no_value(*parts)) return {"[msprobe] Api Accuracy Checker get unsupported type: ", false};
    if (find_operator(parts->type, parts->api) != nullptr) return {};
    return {parts->api.find('.') == std::string::npos ? wrong_api : wrong_name, false};
  }

  Refusal overflow_refusal(const std::string& name) const override {
    const std::optional<ApiName> parts = ApiName::parse(name);
    if (parts && find_operator(parts->type, parts->api) != nullptr) return {};
    return {"API " + name + " not support for overflow check. SKIP.", false};
  }
  bool is_outside_of_overflow_check(std::string_view /*name*/) const override { return false; }

  std::optional<std::string> lone_backward() const override {
    return std::string(parse_failed) + "input is not a dict";
  }
  bool is_never_run(std::string_view /*api*/) const override { return false; }

  std::uint64_t usual_seed() const override { return 42; }
  MaterialisedCall materialise(const ApiCall& call, const MaterialiseOptions& options) const override {
    MaterialisedCall result = materialise_mindspore(call, options);
    if (has_wide_benchmark(result.parts)) result.benchmark_dtype = DType::float64;
    if (names_its_dtype(result)) result.benchmark_dtype = result.args.front().get<Tensor>()->dtype();
    return result;
  }
  // Every tensor has a generator of its own.
  std::uint64_t stream_words(const ApiCall& /*call*/, bool /*real_data*/) const override { return 0; }

  Comparison compare_outputs(const ComparedCall& of, const Value& bench, const Value& device) const override {
    if (of.op.traits().random_zeros) return compare_random(of, bench, device);
    MindSporeSlots slots{mindspore_slots(bench), {}, mindspore_slots(device)};
    slots.rounded = Rounding(of).outputs(slots.bench, slots.tested);
    return compare_mindspore_outputs(of.op.traits(), slots, of.first_input(), of.options);
  }
  std::optional<Comparison> compare_gradients(const ComparedCall& of, const List& bench,
                                              const List& device) const override {
    if (of.op.traits().random_zeros && !bench.empty() && !device.empty()) {
      return compare_random(of, bench.front(), device.front());
    }
    return compare_mindspore_gradients({bench, Rounding(of).gradients(bench), device}, of.options);
  }
  bool knows_several_outputs() const override { return true; }

  // The texts of the rows that fail, then the reasons of SKIP, forward first.
  std::string result_message(const ApiResult& result) const override {
    std::string text = texts_of(result.forward_rows) + texts_of(result.backward_rows);
    for (const auto* rows : {&result.forward_rows, &result.backward_rows}) {
      const std::string uneven = uneven_results_of(*rows);
      if (!uneven.empty()) text += (text.empty() ? "" : " ") + uneven;
    }
    const std::string_view forward = skip_reason(result.forward_rows);
    const std::string_view backward = skip_reason(result.backward_rows);
    text += forward;
    // Upstream says each reason for each direction; one of msrun that concerns the call as a whole is said once.
    if (backward != forward || forward.starts_with(upstream_mark)) text += backward;
    return text;
  }

  // Each recorded direction is SKIP of its own, and says so where the recording is to blame.
  void complete_skip(ApiResult& result, bool has_forward, bool has_backward) const override {
    if (!has_forward) {
      result.forward = Status::pass;
      result.backward_rows = std::exchange(result.forward_rows, {});
    } else if (!has_backward) {
      result.backward.reset();
    } else if (result.outcome == Outcome::not_checkable) {
      result.backward_rows = result.forward_rows;
      result.message = result_message(result);
    }
  }
  int last_device() const override { return 4095; }
  // acc_check_mindspore.md 9.
  bool may_lack_details() const override { return true; }

  const ColumnSet& columns() const override { return mindspore_columns(); }
  const std::array<std::string_view, 4>& result_titles() const override { return mindspore_titles; }

  // A call of which nothing was compared and nothing is to say has no row (acc_check_mindspore.md 6.2).
  void append_result(std::string& out, const ApiResult& result, bool with_reasons) const override {
    const std::string_view forward = cell_of(result.forward, result.forward_rows);
    const std::string_view backward = result.backward ? cell_of(*result.backward, result.backward_rows) : "";
    if (forward.empty() && backward.empty() && result.message.empty()) return;
    append_csv_field(out, result.name);
    out += ',';
    out += forward;
    out += ',';
    out += backward;
    out += ',';
    const bool is_quiet = result.message.empty() && overall_status(result) == Status::pass && is_suspicious(result);
    append_csv_text(out, with_reasons && is_quiet ? message_with_reason(result) : as_upstream(result.message));
    out += csv_row_end;
  }

  void append_details(std::string& out, const ApiResult& result, int precision) const override {
    append_mindspore_rows(out, result.name + ".forward.output.", result.forward_rows, precision);
    append_mindspore_rows(out, result.name + ".backward.output.", result.backward_rows, precision);
  }

  std::string error_data_folder(const std::string& stamp, bool several_devices) const override {
    return several_devices ? "ut_error_data" + stamp : "error_data";
  }
  // The files of a recording are there already.
  void save_error_data(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                       const DeviceResult& device, const ApiResult& result) const override {
    if (!call.recorded) save_npy_files(folder, call, bench, device, result);
  }

 private:
  std::span<const std::string_view> names_;
  std::span<const std::string_view> callable_with_;
  const DumpDialect& dump_;
};

}  // namespace

const Dialect& mindspore_dialect() {
  static const MindSpore dialect(mindspore_names, mindspore_alone, mindspore_dump());
  return dialect;
}

const Dialect& mindtorch_dialect() {
  static const MindSpore dialect(mindtorch_names, mindspore_or_torch, mindtorch_dump());
  return dialect;
}

}  // namespace msrun
