// Whether a changed call is still legal, and its gradients made to fit its outputs.
#include <algorithm>
#include <utility>

#include "kernels/api/operators.h"
#include "kernels/evaluate/evaluate.h"
#include "tools/shrink/steps.h"

namespace msrun::shrink {
namespace {

// Shapes of the tensors that the benchmark returns; nothing if it refuses the call.
std::optional<std::vector<Dims>> output_shapes(const Recording& recording) {
  try {
    const ApiCall call = forward_call(recording);
    const std::optional<ApiName> name = ApiName::parse(call.name);
    const Operator* op = name ? find_operator(name->type, name->api) : nullptr;
    if (op == nullptr) return std::nullopt;
    EvaluationOptions options;
    options.benchmark = true;
    const Evaluation evaluation = evaluate(*op, materialise(call, {}), options);
    std::vector<Dims> shapes;
    for (const Value& leaf : leaves({evaluation.output})) {
      if (const Tensor* tensor = leaf.get<Tensor>()) shapes.push_back(tensor->shape());
    }
    return shapes;
  } catch (const std::exception&) {
    // A SkipError, or want of memory.
    return std::nullopt;
  }
}

std::vector<std::string> tensor_files(const List& values) {
  std::vector<std::string> files;
  for_each_leaf(values, [&](const Value& leaf) {
    if (const TensorSpec* spec = recorded_tensor(leaf)) files.push_back(spec->data_name);
  });
  return files;
}

std::optional<Tensor> cut_to(const Tensor& tensor, const Dims& shape, const std::vector<SizeCut>& cuts) {
  if (tensor.shape().size() != shape.size()) return std::nullopt;
  Tensor result = tensor;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t before = tensor.shape()[axis];
    if (shape[axis] > before) return std::nullopt;
    if (shape[axis] == before) continue;
    const auto cut = std::ranges::find_if(
        cuts, [&](const SizeCut& size) { return size.before == before && size.after == shape[axis]; });
    const std::int64_t start = cut == cuts.end() ? 0 : cut->start;
    result = result.slice(static_cast<std::int64_t>(axis), start, shape[axis]);
  }
  return result.clone();
}

// The outputs as readers of the recording are told.
void describe_outputs(Recording& candidate, const std::vector<Dims>& shapes) {
  std::size_t next = 0;
  const Value outputs = transform_leaves(candidate.described_outputs, [&](const Value& leaf) -> Value {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr || next >= shapes.size()) return leaf;
    const auto changed = std::make_shared<TensorSpec>(*spec);
    changed->shape.assign(shapes[next].begin(), shapes[next].end());
    ++next;
    return std::shared_ptr<const TensorSpec>(changed);
  });
  candidate.described_outputs = *outputs.get<List>();
}

}  // namespace

bool fit(Recording& candidate, const std::vector<SizeCut>& cuts) {
  const std::optional<std::vector<Dims>> shapes = output_shapes(candidate);
  if (!shapes) return false;
  if (candidate.call.has_backward) {
    // One gradient for each output, or for the first ones.
    const std::vector<std::string> files = tensor_files(candidate.call.grad_inputs);
    if (files.size() > shapes->size()) return false;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const Tensor& gradient = candidate.data.at(files[i]);
      std::optional<Tensor> fitting = cut_to(gradient, (*shapes)[i], cuts);
      if (!fitting) return false;
      if (fitting->shape() != gradient.shape()) replace(candidate, files[i], std::move(*fitting));
    }
  }
  describe_outputs(candidate, *shapes);
  return true;
}

bool improve(Best& best, Attempts& attempts, Recording candidate) {
  if (!attempts.accept(candidate, best.name)) return false;
  constexpr std::size_t most_earlier = 8;
  best.earlier.push_back(std::exchange(best.recording, std::move(candidate)));
  // Half of them go, so that what is left spans the whole way.
  for (std::size_t i = 1; best.earlier.size() > most_earlier && i < best.earlier.size(); ++i)
    best.earlier.erase(best.earlier.begin() + static_cast<std::ptrdiff_t>(i));
  return true;
}

}  // namespace msrun::shrink
