#include "tools/shrink/recording.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "kernels/base/digits.h"
#include "kernels/base/error.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/torch/pt_file.h"

namespace msrun::shrink {
namespace {

// File names are made of the call's; what would lead elsewhere becomes '_'.
std::string file_stem(const std::string& name) {
  constexpr std::size_t longest = 150;
  std::string stem = name.substr(0, longest);
  for (char& c : stem) {
    const bool plain = is_alphanumeric(c) || c == '.';
    if (!plain) c = '_';
  }
  return stem;
}

std::vector<std::int64_t> sizes_of(const Tensor& tensor) { return {tensor.shape().begin(), tensor.shape().end()}; }

std::shared_ptr<const TensorSpec> described(const Tensor& tensor, bool requires_grad, std::string file) {
  const auto spec = std::make_shared<TensorSpec>();
  spec->dtype = torch_name(tensor.dtype());
  spec->shape = sizes_of(tensor);
  spec->requires_grad = requires_grad;
  spec->data_name = std::move(file);
  return spec;
}

// Turns built values back into descriptions, whose tensors it keeps.
class Keeper {
 public:
  Keeper(Recording& recording, const std::vector<bool>& requires_grad)
      : recording_(recording), requires_grad_(requires_grad) {}

  // path is that of the value in the entry: "forward.input.0".
  Value keep(const Value& value, const std::string& path, bool has_flags) {
    if (const List* list = value.get<List>()) {
      List result;
      for (std::size_t i = 0; i < list->size(); ++i)
        result.push_back(keep((*list)[i], path + "." + std::to_string(i), has_flags));
      return result;
    }
    if (const Dict* dict = value.get<Dict>()) {
      Dict result;
      for (const auto& [key, item] : *dict) result.emplace_back(key, keep(item, path + "." + key, has_flags));
      return result;
    }
    const Tensor* tensor = value.get<Tensor>();
    if (tensor == nullptr) return value;
    const bool flag = has_flags && next_ < requires_grad_.size() && requires_grad_[next_];
    next_ += has_flags ? 1 : 0;
    std::string file = file_stem(recording_.call.name + "." + path);
    while (recording_.data.contains(file + ".pt")) file += "_";
    file += ".pt";
    recording_.data.emplace(file, tensor->clone());
    return described(*tensor, flag, file);
  }

  List keep_list(const List& list, const std::string& path, bool has_flags) {
    List result;
    for (std::size_t i = 0; i < list.size(); ++i)
      result.push_back(keep(list[i], path + "." + std::to_string(i), has_flags));
    return result;
  }

 private:
  Recording& recording_;
  const std::vector<bool>& requires_grad_;
  std::size_t next_ = 0;
};

// Dtypes and shapes alone.
List without_data(const List& values) {
  const Value tree = transform_leaves(values, [](const Value& leaf) -> Value {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr) return leaf.is<Unsupported>() ? Value(None{}) : leaf;
    const auto plain = std::make_shared<TensorSpec>();
    plain->dtype = spec->dtype;
    plain->shape = spec->shape;
    plain->requires_grad = spec->requires_grad;
    return std::shared_ptr<const TensorSpec>(plain);
  });
  return *tree.get<List>();
}

void collect(const Value& tree, std::vector<std::string>& files) {
  for_each_leaf(tree, [&](const Value& leaf) {
    if (const TensorSpec* spec = recorded_tensor(leaf)) files.push_back(spec->data_name);
  });
}

std::int64_t count_not_zero(const Tensor& tensor) {
  const Tensor plain = tensor.contiguous();
  const std::size_t width = msrun::size_of(plain.dtype());
  const std::byte* bytes = plain.raw();
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < plain.numel(); ++i) {
    const std::byte* element = bytes + static_cast<std::size_t>(i) * width;
    count += std::any_of(element, element + width, [](std::byte b) { return b != std::byte{0}; }) ? 1 : 0;
  }
  return count;
}

void describe(const Value& tree, const std::string& path, std::string& text) {
  if (const List* list = tree.get<List>()) {
    for (std::size_t i = 0; i < list->size(); ++i) describe((*list)[i], path + "." + std::to_string(i), text);
  } else if (const Dict* dict = tree.get<Dict>()) {
    for (const auto& [key, item] : *dict) describe(item, path + "." + key, text);
  } else if (const TensorSpec* spec = recorded_tensor(tree)) {
    constexpr std::string_view torch = "torch.";
    const std::string dtype = spec->dtype.starts_with(torch) ? spec->dtype.substr(torch.size()) : spec->dtype;
    text += (text.empty() ? "" : ", ") + path + " " + dtype + " " + tuple_text(spec->shape);
  }
}

}  // namespace

Recording record(const ApiCall& call, const MaterialiseOptions& options, bool with_results) {
  MaterialiseOptions unchanged = options;
  unchanged.round_to_hf32 = false;
  ApiCall wanted = call;
  if (!with_results) wanted.recorded.reset();
  const MaterialisedCall built = materialise(wanted, unchanged);

  Recording recording;
  recording.call.name = call.name;
  recording.call.output_dtype = call.output_dtype;
  recording.call.has_backward = built.backward.run;
  if (call.recorded) recording.described_outputs = without_data(call.recorded->outputs);
  Keeper keeper(recording, built.requires_grad);
  recording.call.args = keeper.keep_list(built.args, "forward.input", true);
  for (const auto& [key, value] : built.kwargs)
    recording.call.kwargs.emplace_back(key, keeper.keep(value, "forward.input." + key, true));
  recording.call.grad_inputs = keeper.keep_list(built.gradients, "backward.input", false);
  if (built.recorded) {
    RecordedResult results;
    results.outputs = keeper.keep_list(built.recorded->outputs, "forward.output", false);
    results.gradients = keeper.keep_list(built.recorded->gradients, "backward.output", false);
    recording.call.recorded = std::move(results);
  }
  return recording;
}

void write(const Recording& recording, const std::string& folder) {
  const std::string tensors = join_path(folder, tensor_folder_name);
  std::error_code error;
  std::filesystem::create_directories(tensors, error);
  if (error) throw WriteError(tensors + " cannot be made: " + error.message());
  try {
    std::vector<std::string> files = argument_files(recording);
    for (const std::string& file : gradient_files(recording)) files.push_back(file);
    if (recording.call.recorded) {
      collect(recording.call.recorded->outputs, files);
      collect(recording.call.recorded->gradients, files);
    }
    for (const std::string& file : files) write_pt(join_path(tensors, file), recording.data.at(file));
  } catch (const FileError& problem) {
    throw WriteError(problem.what());
  }
  AtomicFile dump(OwnName{join_path(folder, "dump.json")});
  dump.write(dump_text(recording));
  dump.commit();
}

ApiCall forward_call(const Recording& recording) {
  const auto with_tensors = [&](const Value& tree) {
    return transform_leaves(tree, [&](const Value& leaf) -> Value {
      const TensorSpec* spec = recorded_tensor(leaf);
      return spec == nullptr ? leaf : Value(recording.data.at(spec->data_name));
    });
  };
  ApiCall call;
  call.name = recording.call.name;
  call.output_dtype = recording.call.output_dtype;
  for (const Value& value : recording.call.args) call.args.push_back(with_tensors(value));
  for (const auto& [key, value] : recording.call.kwargs) call.kwargs.emplace_back(key, with_tensors(value));
  return call;
}

void replace(Recording& recording, const std::string& file, Tensor tensor) {
  const auto renewed = [&](const Value& tree) {
    return transform_leaves(tree, [&](const Value& leaf) -> Value {
      const TensorSpec* spec = recorded_tensor(leaf);
      if (spec == nullptr || spec->data_name != file) return leaf;
      return described(tensor, spec->requires_grad, file);
    });
  };
  for (Value& value : recording.call.args) value = renewed(value);
  for (auto& [key, value] : recording.call.kwargs) value = renewed(value);
  for (Value& value : recording.call.grad_inputs) value = renewed(value);
  if (recording.call.recorded) {
    for (Value& value : recording.call.recorded->outputs) value = renewed(value);
    for (Value& value : recording.call.recorded->gradients) value = renewed(value);
  }
  recording.data[file] = std::move(tensor);
}

std::vector<std::string> argument_files(const Recording& recording) {
  std::vector<std::string> files;
  for (const Value& value : recording.call.args) collect(value, files);
  for (const auto& [key, value] : recording.call.kwargs) collect(value, files);
  return files;
}

std::vector<std::string> gradient_files(const Recording& recording) {
  std::vector<std::string> files;
  if (recording.call.has_backward) collect(recording.call.grad_inputs, files);
  return files;
}

Size size_of(const Recording& recording) {
  Size size;
  std::vector<std::string> files = argument_files(recording);
  for (const std::string& file : gradient_files(recording)) files.push_back(file);
  for (const std::string& file : files) {
    const Tensor& tensor = recording.data.at(file);
    size.elements += tensor.numel();
    size.not_zero += count_not_zero(tensor);
  }
  return size;
}

std::string shapes_text(const Recording& recording) {
  std::string text;
  describe(recording.call.args, "args", text);
  describe(recording.call.kwargs, "kwargs", text);
  if (recording.call.has_backward) describe(recording.call.grad_inputs, "grad", text);
  return text;
}

}  // namespace msrun::shrink
