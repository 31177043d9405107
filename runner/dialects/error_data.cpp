#include "runner/dialects/error_data.h"

#include <algorithm>

#include "kernels/api/operators.h"
#include "kernels/io/torch/pt_file.h"

namespace msrun {
namespace {

// Foreign text as part of a file name: it may neither lead elsewhere nor make the name longer than a file system takes.
std::string harmless(std::string text, std::size_t longest) {
  text.resize(std::min(text.size(), longest));
  for (char& c : text) {
    if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
  }
  return text;
}

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

}  // namespace

void save_pt_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                   const DeviceResult& device) {
  const std::string name = harmless(call.name, 120);
  save_list(folder, name + ".forward.input", call.args);
  for (const auto& [key, value] : call.kwargs) {
    int n = 0;
    save_tree(folder, name + ".forward.input.kwargs." + harmless(key, 80), value, n);
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
