// PyTorch: the dialect of acc_check as msProbe defines it for PyTorch dumps.
#include <algorithm>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/compare/metrics/message_lines.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/csv.h"
#include "runner/device/device.h"
#include "runner/dialects/dialect.h"
#include "runner/dialects/error_data.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

constexpr std::array<std::string_view, 2> names{"pytorch", "pt"};
constexpr std::array<std::string_view, 1> torch_alone{"torch"};
// Its limits are those of the standards.
constexpr std::array<std::string_view, 1> pytorch_unheeded{"--max-abs-err"};

// acc_check_pytorch.md 5.1: their results are whatever the memory held, or nothing but a conversion.
constexpr std::array<std::string_view, 7> never_run{
    "to", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_with_format"};

constexpr std::array<std::string_view, 4> pytorch_titles{"API name", "Forward Test Success", "Backward Test Success",
                                                         "Message"};

// Namespaces whose calls are no operators: they need other processes, or are modules of a library.
bool is_of_no_operator(std::string_view type) { return type == "Distributed" || type == "MindSpeed"; }
bool is_outside_of_overflow(std::string_view type) { return is_of_no_operator(type) || type == "NPU"; }

bool has_operator(const std::optional<ApiName>& name) {
  return name && find_operator(name->type, name->api) != nullptr;
}

void append_pytorch_rows(std::string& out, const std::string& name, const std::vector<DetailsRow>& rows,
                         int precision) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    append_csv_field(out, name + std::to_string(i));
    append_details_cells(out, rows[i], pytorch_columns(), precision);
  }
}

// Why a gradient was not checked; empty if it was. That is the line before the one that says so.
std::string why_unchecked(const DetailsRow& row) {
  if (row.trust.weak_evidence != WeakEvidence::backward_unchecked) return {};
  const std::size_t verdict = find_verdict(row.message, weak_evidence_sentence(row.trust.weak_evidence));
  if (verdict == std::string::npos || verdict == 1) return {};
  const std::size_t end = verdict - 1;
  const std::size_t begin = row.message.rfind('\n', end - 1);
  return row.message.substr(begin == std::string::npos ? 0 : begin + 1, end - begin - 1);
}

class PyTorch final : public Dialect {
 public:
  std::span<const std::string_view> spellings() const override { return names; }
  std::span<const std::string_view> callable_with() const override { return torch_alone; }
  std::span<const std::string_view> unheeded_options() const override { return pytorch_unheeded; }

  const DumpDialect& dump() const override { return pytorch_dump(); }
  bool has_tensor_files(const DumpHeader& header) const override { return header.real_data; }
  TensorFolder tensor_folder(const std::filesystem::path& recording, const DumpHeader& /*header*/) const override {
    return {tensor_folder_of(recording), folders_of_recording(recording)};
  }
  bool leaves_out_calls() const override { return false; }

  // acc_check_pytorch.md 5.1.
  Refusal check_refusal(const std::string& name, const IsListed& is_listed) const override {
    const std::string unsupported = "API " + name + " not support for acc_check. SKIP.";
    const std::optional<ApiName> parts = ApiName::parse(name);
    if (!parts) return {unsupported, false};
    if (is_of_no_operator(parts->type)) return {unsupported};
    const std::string not_listed = "API " + parts->api + " in black list or not in white list. SKIP.";
    if (!is_listed(parts->api)) return {not_listed};
    if (is_never_run(parts->api)) {
      return {not_listed, true,
              "API " + parts->api + " is not checked: it converts, or returns memory that nobody has written. SKIP."};
    }
    if (!has_operator(parts)) return {unsupported, false};
    return {};
  }

  Refusal overflow_refusal(const std::string& name) const override {
    const std::optional<ApiName> parts = ApiName::parse(name);
    if (parts && is_outside_of_overflow(parts->type)) {
      return {parts->type + " api is not supported for overflow check. SKIP."};
    }
    if (!has_operator(parts)) return {"API " + name + " not support for overflow check. SKIP.", false};
    return {};
  }

  bool is_outside_of_overflow_check(std::string_view name) const override {
    return is_outside_of_overflow(name.substr(0, name.find('.')));
  }

  std::optional<std::string> lone_backward() const override { return std::nullopt; }

  bool is_never_run(std::string_view api) const override {
    return std::ranges::find(never_run, api) != never_run.end();
  }

  std::uint64_t usual_seed() const override { return 1234; }
  MaterialisedCall materialise(const ApiCall& call, const MaterialiseOptions& options) const override {
    return msrun::materialise(call, options);
  }
  std::uint64_t stream_words(const ApiCall& call, bool real_data) const override {
    return msrun::stream_words(call, real_data);
  }

  Comparison compare_outputs(const ComparedCall& of, const Value& bench, const Value& device) const override {
    return msrun::compare_outputs(of.call.name, of.op.traits(), bench, device, of.fp8_input, of.options,
                                  of.first_input());
  }
  std::optional<Comparison> compare_gradients(const ComparedCall& of, const List& bench,
                                              const List& device) const override {
    return msrun::compare_gradients(of.call.name, of.op.traits(), bench, device, of.fp8_input, of.options);
  }
  bool knows_several_outputs() const override { return false; }
  bool knows_result_dtypes() const override { return true; }
  bool fails_with_backward() const override { return true; }
  bool sums_overflow(bool compat) const override { return compat; }

  // The reason of a SKIP.
  std::string result_message(const ApiResult& result) const override {
    if (result.forward == Status::skip && !result.forward_rows.empty()) return result.forward_rows.front().message;
    if (result.backward == Status::skip && !result.backward_rows.empty()) return result.backward_rows.front().message;
    for (std::size_t i = 0; i < result.backward_rows.size(); ++i) {
      const std::string why = why_unchecked(result.backward_rows[i]);
      if (!why.empty()) return "backward.output." + std::to_string(i) + ": " + why;
    }
    return {};
  }

  void complete_skip(ApiResult& /*result*/, bool /*has_forward*/, bool /*has_backward*/) const override {}
  // Ids above those of a usual host are the user's to know.
  int last_device() const override { return std::numeric_limits<int>::max(); }

  const ColumnSet& columns() const override { return pytorch_columns(); }
  const std::array<std::string_view, 4>& result_titles() const override { return pytorch_titles; }

  // Four fields if forward or backward is SKIP (acc_check_pytorch.md 9) or a reason is given, else three.
  void append_result(std::string& out, const ApiResult& result, bool with_reasons) const override {
    append_csv_field(out, result.name);
    out += ',';
    out += status_text(result.forward);
    out += ',';
    out += result.backward ? status_text(*result.backward) : " ";
    const bool is_skip = result.forward == Status::skip || result.backward == Status::skip;
    const std::string message = with_reasons ? message_with_reason(result) : is_skip ? result.message : "";
    if (is_skip || !message.empty()) {
      out += ',';
      append_csv_text(out, message);
    }
    out += csv_row_end;
  }

  void append_details(std::string& out, const ApiResult& result, int precision) const override {
    append_pytorch_rows(out, result.name + ".forward.output.", result.forward_rows, precision);
    append_pytorch_rows(out, result.name + ".backward.output.", result.backward_rows, precision);
  }

  std::string error_data_folder(const std::string& stamp, bool /*several_devices*/) const override {
    return "ut_error_data" + stamp;
  }
  void save_error_data(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                       const DeviceResult& device, const ApiResult& /*result*/) const override {
    save_pt_files(folder, call, bench, device);
  }
};

}  // namespace

const Dialect& pytorch_dialect() {
  static const PyTorch dialect;
  return dialect;
}

}  // namespace msrun
