#include "runner/dialects/error_data.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/compare/policies/compare_mindspore.h"
#include "kernels/io/numpy/npy.h"
#include "kernels/io/torch/pt_file.h"
#include "runner/results/counts.h"

namespace msrun {
namespace {

constexpr std::size_t longest_name = 120;
constexpr std::size_t longest_key = 80;

// n counts every leaf, depth first; only tensors are written.
void save_tree(const Folder& folder, const std::string& prefix, const Value& tree, int& n) {
  for_each_leaf(tree, [&](const Value& leaf) {
    if (const Tensor* tensor = leaf.get<Tensor>()) write_pt(folder, prefix + "." + std::to_string(n) + ".pt", *tensor);
    ++n;
  });
}

void save_list(const Folder& folder, const std::string& prefix, const List& values, const RaisePlan* raised = nullptr) {
  int n = 0;
  for (const Value& value : values) {
    const Value saved = raised == nullptr ? value : transform_leaves(value, [&](const Value& leaf) -> Value {
      const Tensor* tensor = leaf.get<Tensor>();
      return tensor == nullptr ? leaf : Value(raise_gradient(*tensor, *raised));
    });
    save_tree(folder, prefix, saved, n);
  }
}

// The tensors of trees by their numbers: n counts every leaf, depth first.
std::map<int, Tensor> numbered(const List& trees) {
  std::map<int, Tensor> tensors;
  int n = 0;
  for (const Value& leaf : leaves(trees)) {
    if (const Tensor* tensor = leaf.get<Tensor>()) tensors.emplace(n, *tensor);
    ++n;
  }
  return tensors;
}

List values_of(const Dict& dict) {
  List values;
  for (const auto& [key, value] : dict) values.push_back(value);
  return values;
}

std::string numbered_file(const std::string& prefix, int n) { return prefix + "." + std::to_string(n) + ".pt"; }

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The tensors of a value with the numbers of their places: ".0", and inside of lists ".0.1".
void collect(const Value& value, const std::string& name, NamedTensors& tensors) {
  if (const Tensor* tensor = value.get<Tensor>()) tensors.emplace_back(name, *tensor);
  const List* list = value.get<List>();
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    collect((*list)[i], name + "." + std::to_string(i), tensors);
  }
}

void collect_slots(const List& slots, const std::string& prefix, NamedTensors& tensors) {
  for (std::size_t i = 0; i < slots.size(); ++i) collect(slots[i], prefix + "." + std::to_string(i), tensors);
}

// Gradients by the numbers that their rows have: those that are there.
List present(const List& gradients) {
  List result;
  for (const Value& gradient : gradients) {
    const Tensor* tensor = gradient.get<Tensor>();
    if (tensor != nullptr && is_floating(tensor->dtype())) result.push_back(gradient);
  }
  return result;
}

bool fails(const std::vector<DetailsRow>& rows) {
  return std::ranges::any_of(rows,
                             [](const DetailsRow& row) { return row.status == Status::error || row.beyond_rounding; });
}

}  // namespace

std::string harmless_name(std::string text, std::size_t longest) {
  text.resize(std::min(text.size(), longest));
  for (char& c : text) {
    if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
  }
  return text;
}

std::string error_data_prefix(const std::string& call) { return harmless_name(call, longest_name) + "."; }

std::string error_data_device(std::int32_t device) { return "device" + std::to_string(device); }

std::string first_taken_att_file(const MaterialisedCall& call) {
  const std::map<int, Tensor> positional = numbered(call.args);
  for (const auto& [n, tensor] : numbered(values_of(call.kwargs))) {
    if (positional.contains(n)) return numbered_file(harmless_name(call.name, longest_name) + ".forward.input", n);
  }
  return {};
}

void save_att_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                    const DeviceResult& device, const List& bench_gradients, const List& device_gradients, bool raw) {
  const std::string name = harmless_name(call.name, longest_name);
  const std::string input = name + ".forward.input";
  save_list(folder, input, call.args);
  if (raw) {
    const std::map<int, Tensor> positional = numbered(call.args);
    for (const auto& [n, tensor] : numbered(values_of(call.kwargs))) {
      if (positional.contains(n)) return;
      write_pt(folder, numbered_file(input, n), tensor);
    }
  } else {
    for (const auto& [key, value] : call.kwargs) {
      const std::string prefix = input + ".kwargs." + harmless_name(key, longest_key);
      const Tensor* tensor = value.get<Tensor>();
      if (tensor != nullptr) write_pt(folder, prefix + ".pt", *tensor);
      if (tensor == nullptr) save_list(folder, prefix, {value});
    }
  }
  save_list(folder, name + ".forward.output.bench", {bench.output});
  save_list(folder, name + ".forward.output.npu", {device.output});
  if (!call.backward.run) return;
  save_list(folder, name + ".backward.input", call.gradients);
  save_list(folder, name + ".backward.output.bench", bench_gradients);
  save_list(folder, name + ".backward.output.npu", device_gradients);
}

void save_npy_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                    const DeviceResult& device, const ApiResult& result) {
  const std::string name = harmless_name(call.name, longest_name);
  NamedTensors tensors;
  // No row tells which direction another run has computed otherwise.
  const bool varies = is_unsteady(result);
  if (varies || fails(result.forward_rows)) {
    collect_slots(call.args, name + ".forward.input", tensors);
    for (const auto& [key, value] : call.kwargs)
      collect(value, name + ".forward.kwargs." + harmless_name(key, longest_key), tensors);
    collect_slots(mindspore_slots(device.output), name + ".forward.output", tensors);
    collect_slots(mindspore_slots(bench.output), name + ".forward.bench_output", tensors);
  }
  if (varies || fails(result.backward_rows)) {
    collect_slots(call.gradients, name + ".backward.input", tensors);
    collect_slots(present(device.gradients), name + ".backward.output", tensors);
    collect_slots(present(bench.gradients), name + ".backward.bench_output", tensors);
  }
  for (const auto& [file, tensor] : tensors) {
    write_npy(folder, file + ".npy", tensor.dtype() == DType::bfloat16 ? tensor.to(DType::float32) : tensor);
  }
}

void save_pt_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                   const DeviceResult& device) {
  const std::string name = harmless_name(call.name, longest_name);
  save_list(folder, name + ".forward.input", call.args);
  for (const auto& [key, value] : call.kwargs) {
    int n = 0;
    save_tree(folder, name + ".forward.input.kwargs." + harmless_name(key, longest_key), value, n);
  }
  save_list(folder, name + ".forward.output.bench", {bench.output});
  save_list(folder, name + ".forward.output.device", {device.output});
  if (!call.backward.run) return;
  const RaisePlan raised = plan_raise(call, traits_of(call.parts));
  save_list(folder, name + ".backward.input", call.gradients, &raised);
  save_list(folder, name + ".backward.output.bench", bench.gradients);
  save_list(folder, name + ".backward.output.device", device.gradients);
}

}  // namespace msrun
