#include "runner/check/output_choice.h"

#include "kernels/compare/choices/bin_moves.h"
#include "kernels/compare/choices/window_ties.h"
#include "kernels/tensor/changed_elements.h"

namespace msrun {
namespace {

// One of several outputs, or the only one.
const Tensor* output_at(const Value& output, std::size_t i) {
  const List* list = output.get<List>();
  if (list == nullptr) return i == 0 ? output.get<Tensor>() : nullptr;
  return i < list->size() ? (*list)[i].get<Tensor>() : nullptr;
}

Value with_output(const Value& output, std::size_t i, Tensor tensor) {
  const List* list = output.get<List>();
  if (list == nullptr) return tensor;
  List changed = *list;
  changed[i] = std::move(tensor);
  return changed;
}

}  // namespace

OutputChoice::OutputChoice(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
                           const Value& device) {
  const Tensor* expected = output_at(bench.output, 0);
  const Tensor* actual = output_at(device, 0);
  if (expected == nullptr || actual == nullptr) return;
  if (bench.notes.choices.writes && bench.output.is<Tensor>() && device.is<Tensor>())
    kept_ = OverwriteChoice::find(*bench.notes.choices.writes, *expected, *actual);
  if (bench.notes.choices.edges) moved_ = moved_counts(*bench.notes.choices.edges, *expected, *actual);
  const Tensor* input = first_argument(op, call).as_tensor();
  const Tensor* indices = output_at(device, 1);
  if (bench.notes.choices.windows && input != nullptr && indices != nullptr && output_at(bench.output, 1) != nullptr)
    indices_ = exchange_tied_indices(*bench.notes.choices.windows, *input, *indices);
}

Value OutputChoice::applied(const Evaluation& evaluation) const {
  const Tensor* tensor = output_at(evaluation.output, 0);
  if (tensor == nullptr) return evaluation.output;
  if (kept_ && evaluation.notes.choices.writes) return kept_->applied(*tensor, *evaluation.notes.choices.writes);
  if (moved_ && moved_->shape() == tensor->shape()) {
    return with_output(evaluation.output, 0, changed_elements(*tensor, [&](double count, std::int64_t i) {
                         return count + moved_->data<double>()[i];
                       }));
  }
  const Tensor* indices = output_at(evaluation.output, 1);
  if (indices_ && indices != nullptr) return with_output(evaluation.output, 1, indices_->to(indices->dtype()));
  return evaluation.output;
}

std::string OutputChoice::message() const {
  if (kept_) return kept_->message();
  if (moved_) return "Elements within rounding of an edge: on which side they are counted is taken as on the device.";
  if (indices_) return "Elements of equal value: which of them an index names is taken as the device chose.";
  return "";
}

}  // namespace msrun
