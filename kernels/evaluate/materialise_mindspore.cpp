#include "kernels/evaluate/materialise_mindspore.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/io/stored/tensor_file.h"
#include "kernels/tensor/mindspore_dtype.h"

namespace msrun {
namespace {

[[noreturn]] void refuse_field(std::string_view key) {
  throw SkipError("[msprobe] Api Accuracy Checker parse json failed: check_and_get_from_json_dict failed: " +
                  std::string(key) + " field in api_info.json is missing");
}

DType known_dtype(const TensorSpec& spec) {
  const std::optional<DType> dtype = parse_dtype(spec.dtype);
  if (!dtype) throw SkipError("[msprobe] Api Accuracy Checker get unsupported type: ");
  return *dtype;
}

bool is_empty(const TensorSpec& spec) { return std::ranges::find(spec.shape, 0) != spec.shape.end(); }

// An infinite bound that the recorder found, as the largest double; which dtype the tensor has makes no difference.
double bound(double recorded, double infinity) {
  return recorded == infinity ? std::copysign(std::numeric_limits<double>::max(), infinity) : recorded;
}

class MindSporeBuilder {
 public:
  // notes outlive the builder.
  MindSporeBuilder(const MaterialiseOptions& options, std::vector<std::string>& notes)
      : options_(options), notes_(notes), reads_files_(!options.data_root.empty()) {}

  Value build(const Value& tree) const {
    return transform_leaves(tree, [&](const Value& leaf) -> Value {
      if (const auto* unsupported = leaf.get<Unsupported>()) throw SkipError(unsupported->reason);
      const TensorSpec* spec = recorded_tensor(leaf);
      return spec == nullptr ? leaf : Value(reads_files_ ? read(*spec) : generate(*spec));
    });
  }

  // A tensor that the device returned has the declared shape, which decides whether it is compared.
  Value build_result(const Value& tree) const {
    return transform_leaves(tree, [&](const Value& leaf) -> Value {
      const TensorSpec* spec = recorded_tensor(leaf);
      if (spec == nullptr) return build(leaf);
      const Tensor tensor = read(*spec);
      const Dims declared(spec->shape.begin(), spec->shape.end());
      if (tensor.shape() == declared) return tensor;
      if (tensor.numel() == element_count(declared)) return tensor.reshape(declared);
      throw SkipError("The file " + spec->file() + " holds a tensor of shape " + tuple_text(tensor.shape()) +
                      ", the dump says " + tuple_text(declared) + ".");
    });
  }

 private:
  Tensor generate(const TensorSpec& spec) const {
    if (is_empty(spec)) return Tensor(known_dtype(spec), spec.shape);
    if (!spec.max) refuse_field("Max");
    if (!spec.min) refuse_field("Min");
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return numpy_uniform(known_dtype(spec), spec.shape, bound(*spec.min, -infinity), bound(*spec.max, infinity),
                         static_cast<std::uint32_t>(options_.seed));
  }

  Tensor read(const TensorSpec& spec) const {
    if (spec.file().empty() && is_empty(spec)) return Tensor(known_dtype(spec), spec.shape);
    if (spec.file().empty()) refuse_field("data_name");
    const DType dtype = known_dtype(spec);
    const std::filesystem::path path = recorded_file(spec, options_);
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      throw SkipError(no_such_mindspore_file + path.lexically_normal().string());
    const Tensor tensor = read_tensor_file(path.string());
    note_mismatch(spec, dtype, tensor);
    return tensor.to(dtype);
  }

  // The file wins over the dump, but one that holds something else may be the file of another call. NumPy has no
  // bfloat16: the recorder writes it as float32.
  void note_mismatch(const TensorSpec& spec, DType dtype, const Tensor& tensor) const {
    const bool same_dtype = tensor.dtype() == dtype || (dtype == DType::bfloat16 && tensor.dtype() == DType::float32);
    const bool same_shape = std::ranges::equal(spec.shape, tensor.shape());
    if (same_dtype && same_shape) return;
    notes_.push_back(std::string(file_note) + spec.file() + " holds " + std::string(mindspore_name(tensor.dtype())) +
                     " " + tuple_text(tensor.shape()) + ", the dump says " + std::string(mindspore_name(dtype)) + " " +
                     tuple_text(spec.shape) + ".");
  }

  const MaterialiseOptions& options_;
  std::vector<std::string>& notes_;
  bool reads_files_;
};

void add_flags(const Value& built, bool wanted, std::vector<bool>& flags) {
  for_each_leaf(built, [&](const Value& leaf) {
    if (const Tensor* tensor = leaf.get<Tensor>()) flags.push_back(wanted && is_floating(tensor->dtype()));
  });
}

// Whether gradients of keyword arguments are asked for: upstream takes these arguments for constants, so that a
// recording whose gradients are the device's may hold none of them.
bool has_keyword_gradients(const ApiCall& call, const List& args) {
  if (!call.recorded) return true;
  std::size_t gradients = 0;
  std::size_t positional = 0;
  for (const Value& value : call.recorded->gradients) for_each_leaf(value, [&](const Value& /*leaf*/) { ++gradients; });
  for (const Value& value : args) {
    for_each_leaf(value, [&](const Value& leaf) { positional += leaf.is<Tensor>() ? 1 : 0; });
  }
  return gradients > positional;
}

void build_gradients(const ApiCall& call, const MindSporeBuilder& builder, MaterialisedCall& result) {
  // Without a gradient there is nothing to compare, and the column stays empty.
  if (!call.has_backward || call.grad_inputs.empty()) return;
  try {
    for (const Value& gradient : call.grad_inputs) result.gradients.push_back(builder.build(gradient));
    result.backward.run = true;
  } catch (const SkipError& error) {
    result.gradients.clear();
    result.backward.message = error.what();
  }
}

void load_results(const RecordedResult& recorded, const MindSporeBuilder& builder, MaterialisedCall& result) {
  RecordedResult& loaded = result.recorded.emplace();
  // The gradients are compared all the same.
  try {
    for (const Value& output : recorded.outputs) loaded.outputs.push_back(builder.build_result(output));
  } catch (const SkipError& error) {
    loaded.outputs = {Unsupported{error.what()}};
  }
  if (!result.backward.run) return;
  try {
    for (const Value& gradient : recorded.gradients) loaded.gradients.push_back(builder.build_result(gradient));
  } catch (const SkipError& error) {
    loaded.gradients.clear();
    loaded.gradient_problem = error.what();
  }
}

}  // namespace

MaterialisedCall materialise_mindspore(const ApiCall& call, const MaterialiseOptions& options) {
  const std::optional<ApiName> name = ApiName::parse(call.name);
  if (!name) throw SkipError("[msprobe] Api Accuracy Checker get wrong value: ");
  MaterialisedCall result;
  result.name = call.name;
  result.parts = *name;
  result.autocast = false;
  result.hf32 = false;
  result.gradients_by_argument = true;
  const MindSporeBuilder builder(options, result.notes);
  for (const Value& arg : call.args) result.args.push_back(builder.build(arg));
  for (const auto& [key, value] : call.kwargs) result.kwargs.emplace_back(key, builder.build(value));
  for (const Value& arg : result.args) add_flags(arg, true, result.requires_grad);
  const bool keywords = has_keyword_gradients(call, result.args);
  for (const auto& [key, value] : result.kwargs) add_flags(value, keywords, result.requires_grad);
  build_gradients(call, builder, result);
  if (call.recorded) load_results(*call.recorded, builder, result);
  return result;
}

}  // namespace msrun
