#include "runner/dialects/att.h"

#include <algorithm>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/compare/policies/att_compare.h"
#include "kernels/compare/policies/att_measures.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/io/files/csv.h"
#include "runner/device/device.h"
#include "runner/dialects/error_data.h"
#include "runner/results/counts.h"

namespace msrun {
namespace {

constexpr std::array<std::string_view, 4> att_titles{"API name", "Forward Test Success", "Backward Test Success",
                                                     "Message"};
constexpr std::array<std::string_view, att_measure_count> message_titles{"Cosine Similarity Message",
                                                                         "Max Rel Err Message",
                                                                         "Max Abs Err Message",
                                                                         "Relative Error (dual thousandth) Message",
                                                                         "Relative Error (dual ten thousandth) Message",
                                                                         "Builtin Type Message"};
constexpr std::array<std::string_view, 3> checked_types{"Functional", "Tensor", "Torch"};

bool is_checked(std::string_view type) { return std::ranges::find(checked_types, type) != checked_types.end(); }

AttVerdict::Cell cell_of(Status status) {
  if (status == Status::skip) return AttVerdict::Cell::skip;
  return status == Status::pass ? AttVerdict::Cell::yes : AttVerdict::Cell::no;
}

std::string_view cell_word(AttVerdict::Cell cell) {
  constexpr std::array<std::string_view, 4> words{"False", "True", "N/A", "SKIP"};
  return words[static_cast<std::size_t>(cell)];
}

// The output that is compared of a call with several, of which only one is differentiated.
const Value& compared_output(const OperatorTraits& traits, const Value& output) {
  const List* list = output.get<List>();
  const bool chosen = list != nullptr && traits.differentiable_output && *traits.differentiable_output < list->size();
  return chosen ? (*list)[*traits.differentiable_output] : output;
}

// An operator that drops elements may be written in many ways, so that any name with the word counts.
bool drops_at_random(std::string_view name, const OperatorTraits& traits) {
  return traits.random_zeros || name.find("dropout") != std::string_view::npos;
}

std::size_t tensors_in(const Value& tree) {
  std::size_t count = 0;
  for_each_leaf(tree, [&](const Value& leaf) { count += leaf.is<Tensor>() ? 1 : 0; });
  return count;
}

// Random data are not made of complex dtypes, and of ranges without numbers.
void refuse_data(const ApiCall& call) {
  const auto look = [](const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr || !spec->file().empty()) return;
    const std::optional<DType> dtype = parse_dtype(spec->dtype);
    if (dtype && is_complex(*dtype)) throw SkipError("Dtype is not supported: " + spec->dtype);
  };
  for (const Value& arg : call.args) for_each_leaf(arg, look);
  for (const auto& [key, value] : call.kwargs) for_each_leaf(value, look);
}

class Att final : public Dialect {
 public:
  explicit Att(bool raw) : raw_(raw) {}

  std::span<const std::string_view> spellings() const override { return pytorch_dialect().spellings(); }
  std::span<const std::string_view> callable_with() const override { return pytorch_dialect().callable_with(); }
  std::span<const std::string_view> unheeded_options() const override { return pytorch_dialect().unheeded_options(); }

  const DumpDialect& dump() const override { return pytorch_dialect().dump(); }
  bool has_tensor_files(const DumpHeader& header) const override { return pytorch_dialect().has_tensor_files(header); }
  TensorFolder tensor_folder(const std::filesystem::path& recording, const DumpHeader& header) const override {
    return pytorch_dialect().tensor_folder(recording, header);
  }
  bool leaves_out_calls() const override { return pytorch_dialect().leaves_out_calls(); }

  // There were no lists; what a list of today leaves out has no row.
  Refusal check_refusal(const std::string& name, const IsListed& is_listed) const override {
    const std::optional<ApiName> parts = ApiName::parse(name);
    if (!parts) return {"The name is not of the form Type*api*index.", false};
    if (!is_checked(parts->type)) return {"Type " + parts->type + " is not supported.", false};
    if (!is_listed(parts->api)) return {"API " + parts->api + " in black list or not in white list. SKIP."};
    if (is_never_run(parts->api)) {
      return {"API " + parts->api + " is not checked: its results are whatever the memory held, or a conversion.",
              false};
    }
    return operator_refusal(*parts);
  }

  Refusal overflow_refusal(const std::string& name) const override {
    const std::optional<ApiName> parts = ApiName::parse(name);
    if (!parts) return {"The name is not of the form Type_api_index_forward.", false};
    if (!is_checked(parts->type)) return {"Type " + parts->type + " is not supported.", false};
    return operator_refusal(*parts);
  }

  bool is_outside_of_overflow_check(std::string_view /*name*/) const override { return false; }
  std::optional<std::string> lone_backward() const override { return pytorch_dialect().lone_backward(); }
  bool is_never_run(std::string_view api) const override { return pytorch_dialect().is_never_run(api); }

  std::uint64_t usual_seed() const override { return pytorch_dialect().usual_seed(); }
  MaterialisedCall materialise(const ApiCall& call, const MaterialiseOptions& options) const override {
    refuse_data(call);
    MaterialiseOptions plain = options;
    plain.round_to_hf32 = false;
    plain.literal_ranges = true;
    MaterialisedCall result = msrun::materialise(call, plain);
    result.autocast = false;
    result.raises_one_by_one = true;
    result.implicit_gradient = true;
    // A call that writes its result into an argument has no backward, which the log says.
    if (writes_into_argument(call)) result.backward = {};
    if (raw_ && result.gradients.size() > 1) result.gradients.resize(1);
    return result;
  }
  std::uint64_t stream_words(const ApiCall& call, bool real_data) const override {
    return msrun::stream_words(call, real_data, true);
  }

  Comparison compare_outputs(const ComparedCall& of, const Value& bench, const Value& device) const override {
    const OperatorTraits& traits = of.op.traits();
    return compare_att_outputs(compared_output(traits, bench), compared_output(traits, device),
                               {raw_, drops_at_random(of.call.name, traits)});
  }
  std::optional<Comparison> compare_gradients(const ComparedCall& of, const List& bench,
                                              const List& device) const override {
    return compare_att_gradients(bench, device, {raw_, drops_at_random(of.call.name, of.op.traits())});
  }
  bool knows_several_outputs() const override { return false; }

  // Tensors that are arguments by themselves, in order; behind them those with a gradient in lists and of keywords.
  List compared_gradients(const MaterialisedCall& call, const List& all, bool /*compat*/) const override {
    List direct;
    List further;
    std::size_t place = 0;
    const auto take = [&](const Value& argument, bool is_direct) {
      for (std::size_t i = 0; i < tensors_in(argument) && place < all.size(); ++i, ++place) {
        if (is_direct) direct.push_back(all[place]);
        if (!is_direct && !raw_ && !all[place].is_none()) further.push_back(all[place]);
      }
    };
    for (const Value& argument : call.args) take(argument, argument.is<Tensor>());
    for (const auto& [key, value] : call.kwargs) take(value, false);
    direct.insert(direct.end(), further.begin(), further.end());
    return direct;
  }

  bool sums_overflow(bool /*compat*/) const override { return raw_; }

  std::string result_message(const ApiResult& result) const override {
    return pytorch_dialect().result_message(result);
  }

  void complete_skip(ApiResult& result, bool has_forward, bool has_backward) const override {
    pytorch_dialect().complete_skip(result, has_forward, has_backward);
  }
  int last_device() const override { return pytorch_dialect().last_device(); }

  const ColumnSet& columns() const override { return att_columns(); }
  // They do not hold all that a result does.
  bool is_in_its_files() const override { return false; }
  const std::array<std::string_view, 4>& result_titles() const override { return att_titles; }

  std::string result_header() const override {
    std::string header;
    for (const std::string_view title : att_titles) (header += header.empty() ? "" : ",") += title;
    return header.append(csv_row_end);
  }

  std::string details_header(bool /*english_titles*/) const override {
    std::string header = "Npu Name";
    for (const char* title : columns().dtype_and_shape_titles()) (header += ',') += title;
    for (std::size_t i = 0; i < columns().size(); ++i) {
      (header += ',') += columns().columns()[i].title(true);
      (header += ',') += message_titles[i];
    }
    return header + ",Pass" + std::string(csv_row_end);
  }

  void append_result(std::string& out, const ApiResult& result, bool /*with_reasons*/) const override {
    const AttVerdict verdict = att_verdict(result, raw_);
    if (verdict.left_out) return;
    append_row(out, result.name, verdict.forward, verdict.backward, verdict.is_skip() ? result.message : "");
    // Where the old tool could not save the tensors of a call it gave it another row.
    if (!verdict.is_skip() && !result.message.empty()) {
      append_row(out, result.name, AttVerdict::Cell::skip, AttVerdict::Cell::skip, result.message);
    }
  }

  void append_details(std::string& out, const ApiResult& result, int precision) const override {
    const AttVerdict verdict = att_verdict(result, raw_);
    if (verdict.left_out) return;
    append_rows(out, result.name + ".forward.output.", result.forward_rows, verdict.forward, precision);
    append_rows(out, result.name + ".backward.output.", result.backward_rows, verdict.backward, precision);
  }

  bool keeps_error_data(const ApiResult& result) const override {
    const AttVerdict verdict = att_verdict(result, raw_);
    const bool fails = verdict.forward == AttVerdict::Cell::no || verdict.backward == AttVerdict::Cell::no;
    return fails || (!raw_ && is_suspicious(result));
  }
  std::string error_data_folder(const std::string& /*stamp*/, bool /*several_devices*/) const override {
    return "ut_error_data";
  }
  void save_error_data(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                       const DeviceResult& device, const ApiResult& /*result*/) const override {
    save_att_files(folder, call, bench, device, compared_gradients(call, bench.gradients, raw_),
                   compared_gradients(call, device.gradients, raw_), raw_);
  }
  std::string error_data_notice(const Folder& folder, const MaterialisedCall& call) const override {
    const std::string taken = raw_ ? first_taken_att_file(call) : "";
    return taken.empty() ? "" : "File " + folder.path_of(taken) + " already exists";
  }

 private:
  static Refusal operator_refusal(const ApiName& parts) {
    if (find_operator(parts.type, parts.api) != nullptr) return {};
    return {"There is no API " + parts.type + "." + parts.api + ".", false};
  }

  static void append_row(std::string& out, const std::string& name, AttVerdict::Cell forward, AttVerdict::Cell backward,
                         const std::string& message) {
    append_csv_field(out, name);
    ((out += ',') += cell_word(forward)) += ',';
    out += cell_word(backward);
    if (!message.empty()) {
      out += ',';
      append_csv_text(out, message);
    }
    out += csv_row_end;
  }

  void append_rows(std::string& out, const std::string& name, const std::vector<DetailsRow>& rows,
                   AttVerdict::Cell verdict, int precision) const {
    if (verdict == AttVerdict::Cell::skip) return;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      append_csv_field(out, name + std::to_string(i));
      append_att_cells(out, rows[i], verdict == AttVerdict::Cell::yes, raw_, precision);
    }
  }

  bool raw_;
};

}  // namespace

bool writes_into_argument(const ApiCall& call) {
  return std::ranges::any_of(call.kwargs, [](const auto& item) { return item.first == "out"; });
}

AttVerdict att_verdict(const ApiResult& result, bool raw) {
  AttVerdict verdict;
  verdict.left_out = result.outcome == Outcome::skipped_by_rule;
  verdict.forward = cell_of(result.forward);
  verdict.backward = result.backward ? cell_of(*result.backward) : AttVerdict::Cell::not_applicable;
  // The old tool lost the verdict on a forward whose backward could not run.
  if (result.forward == Status::skip || (raw && verdict.is_skip())) {
    verdict.forward = verdict.backward = AttVerdict::Cell::skip;
  }
  verdict.compared = verdict.forward != AttVerdict::Cell::skip || (raw && is_att_failure_to_compare(result.message));
  return verdict;
}

const Dialect& att_dialect(bool raw) {
  static const Att mended(false);
  static const Att as_it_was(true);
  return raw ? as_it_was : mended;
}

}  // namespace msrun
