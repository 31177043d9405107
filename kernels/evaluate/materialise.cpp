#include "kernels/evaluate/materialise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <system_error>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/io/stored/tensor_file.h"
#include "kernels/tensor/arithmetic.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/masked_random.h"

namespace msrun {
namespace {

using SpecPtr = std::shared_ptr<const TensorSpec>;
using Notes = std::vector<std::string>;

// How the tensors of a call are changed before use (6.2, 6.6).
struct Changes {
  std::optional<DTypeChange> converts = std::nullopt;
  bool hf32 = false;
};

DType converted(DType dtype, const Changes& changes) {
  return changes.converts && changes.converts->from == dtype ? changes.converts->to : dtype;
}

DType dtype_of(const TensorSpec& spec) {
  const std::optional<DType> dtype = parse_dtype(spec.dtype);
  if (!dtype) throw SkipError("Dtype is not supported: " + spec.dtype);
  return *dtype;
}

ValueRange range_of(const TensorSpec& spec) { return {spec.min, spec.max, spec.min_finite, spec.max_finite}; }

bool has_file(const TensorSpec& spec) { return !spec.file().empty(); }

// The file wins over the dump (6.4), but one that holds something else may be the file of another call.
void note_mismatch(const TensorSpec& spec, const std::string& file, const Tensor& tensor, Notes& notes) {
  // The older tool recorded neither dtype nor shape of a tensor in a file.
  if (spec.dtype.empty()) return;
  const bool same_shape =
      std::equal(spec.shape.begin(), spec.shape.end(), tensor.shape().begin(), tensor.shape().end());
  if (parse_dtype(spec.dtype) == tensor.dtype() && same_shape) return;
  notes.push_back(std::string(file_note) + file + " holds " + std::string(torch_name(tensor.dtype())) + " " +
                  tuple_text(tensor.shape()) + ", the dump says " + spec.dtype + " " + tuple_text(spec.shape) + ".");
}

bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [inside, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return inside == folder.end();
}

// A file may describe a tensor of any size over a few stored elements, by strides of 0. What the dump says is what the
// memory of the call was planned for; where it says nothing, that memory alone is the limit.
void refuse_repeated(const TensorSpec& spec, const std::string& file, const std::string& path, const Tensor& tensor) {
  if (spec.dtype.empty() || static_cast<double>(tensor.numel()) <= recorded_elements(spec)) return;
  const std::optional<std::uint64_t> stored = bytes_if_repeated(path, tensor);
  if (!stored) return;
  throw SkipError("The file " + file + " of " + std::to_string(*stored) + " bytes describes a tensor " +
                  tuple_text(tensor.shape()) + " that repeats its elements, the dump says " + tuple_text(spec.shape) +
                  ".");
}

Tensor read_recorded(const TensorSpec& spec, const MaterialiseOptions& options, Notes& notes) {
  const std::string& file = spec.file();
  const std::string path = recorded_file(spec, options).string();
  Tensor tensor = read_tensor_file(path, any_repeated);
  refuse_repeated(spec, file, path, tensor);
  note_mismatch(spec, file, tensor, notes);
  return tensor;
}

class Builder {
 public:
  Builder(const ApiCall& call, const MaterialiseOptions& options, const Changes& changes, Notes& notes)
      : call_(call), options_(options), changes_(changes), notes_(notes) {}

  Value build(const Value& value, const std::string& path) {
    const std::string inside = path + ".";
    if (const List* list = value.get<List>()) {
      List result;
      for (std::size_t i = 0; i < list->size(); ++i) result.push_back(build((*list)[i], inside + std::to_string(i)));
      return result;
    }
    if (const Dict* dict = value.get<Dict>()) {
      Dict result;
      for (const auto& [key, item] : *dict) result.emplace_back(key, build(item, inside + key));
      return result;
    }
    if (const Unsupported* unsupported = value.get<Unsupported>()) throw SkipError(unsupported->reason);
    const TensorSpec* spec = recorded_tensor(value);
    return spec == nullptr ? value : Value(build_tensor(*spec, path));
  }

  bool hf32_changed() const { return hf32_changed_; }

 private:
  Tensor build_tensor(const TensorSpec& spec, const std::string& path) {
    Tensor tensor = has_file(spec) ? read_recorded(spec, options_, notes_) : generate(spec, path);
    tensor = tensor.to(converted(tensor.dtype(), changes_));
    if (!changes_.hf32 || tensor.dtype() != DType::float32) return tensor;
    const Tensor rounded = round_operand(tensor, OperandRounding::hf32);
    // Asked for only where a recorded result may belong to the inputs as they were.
    hf32_changed_ = hf32_changed_ || (call_.recorded && !bitwise_equal(rounded, tensor));
    return rounded;
  }

  Tensor generate(const TensorSpec& spec, const std::string& path) const {
    const DType dtype = converted(dtype_of(spec), changes_);
    if (options_.literal_ranges && recorded_elements(spec) == 0) {
      throw SkipError("No random data can be made for a tensor without elements: its shape is " +
                      tuple_text(spec.shape) + ".");
    }
    if (is_float8(dtype) && (!spec.min || !spec.max)) {
      throw SkipError("A " + spec.dtype + " tensor was recorded without extrema: record it with \"task\": \"tensor\".");
    }
    const RangeRule rule = options_.literal_ranges      ? RangeRule::literal
                           : options_.stream != nullptr ? RangeRule::torch
                                                        : RangeRule::finite;
    if (options_.stream != nullptr) return random_tensor(dtype, spec.shape, range_of(spec), *options_.stream, rule);
    Philox words(random_key(options_.seed, call_.name, path));
    if (options_.fit_drawn && rule == RangeRule::finite) {
      if (const auto masked = masked_range(dtype, spec.shape, range_of(spec), spec.mean))
        return masked_tensor(dtype, spec.shape, *masked, words);
    }
    return random_tensor(dtype, spec.shape, range_of(spec), words, rule);
  }

  const ApiCall& call_;
  const MaterialiseOptions& options_;
  const Changes& changes_;
  Notes& notes_;
  bool hf32_changed_ = false;
};

bool is_unbounded(const Value& recorded) {
  bool any = false;
  for_each_leaf(recorded, [&](const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr || has_file(*spec)) return;
    const ValueRange range = range_of(*spec);
    const auto is_infinite = [](const std::optional<double>& finite, const std::optional<double>& extremum) {
      return std::isinf(finite.value_or(extremum.value_or(0)));
    };
    any = any || is_infinite(range.min_finite, range.min) || is_infinite(range.max_finite, range.max);
  });
  return any;
}

// One flag per tensor; built is the value that recorded has become.
void collect_flags(const Value& recorded, const Value& built, bool allowed, std::vector<bool>& flags) {
  std::vector<DType> dtypes;
  for_each_leaf(built, [&](const Value& leaf) {
    if (const Tensor* tensor = leaf.get<Tensor>()) dtypes.push_back(tensor->dtype());
  });
  std::size_t place = 0;
  for_each_leaf(recorded, [&](const Value& leaf) {
    if (const TensorSpec* spec = recorded_tensor(leaf)) {
      // A tensor that is not floating cannot require a gradient, whatever the dump says. What it is says the tensor
      // itself, as the dtype that the dump names may be missing, unknown or another than that of the file.
      const DType dtype = dtypes[place++];
      flags.push_back(allowed && spec->requires_grad && (is_floating(dtype) || is_complex(dtype)));
    } else if (leaf.is<Tensor>()) {
      flags.push_back(false);
      ++place;
    }
  });
}

bool has_keyword(const ApiCall& call, std::string_view key) {
  return std::any_of(call.kwargs.begin(), call.kwargs.end(), [&](const auto& entry) { return entry.first == key; });
}

// A recorded result: from its file, or without elements. Random data would mean nothing.
Value load_result(const Value& tree, const MaterialiseOptions& options, Notes& notes) {
  return transform_leaves(tree, [&](const Value& leaf) -> Value {
    if (const Unsupported* unsupported = leaf.get<Unsupported>()) throw SkipError(unsupported->reason);
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr) return leaf;
    const bool empty = std::find(spec->shape.begin(), spec->shape.end(), 0) != spec->shape.end();
    if (!has_file(*spec) && empty) return Tensor(dtype_of(*spec), Dims(spec->shape.begin(), spec->shape.end()));
    if (!has_file(*spec)) throw SkipError("The dump holds no data of the recorded result.");
    return read_recorded(*spec, options, notes);
  });
}

// A gradient that cannot be read leaves the forward to be checked.
RecordedResult load_results(const RecordedResult& recorded, bool with_gradients, const MaterialiseOptions& options,
                            Notes& notes) {
  RecordedResult result;
  for (const Value& output : recorded.outputs) result.outputs.push_back(load_result(output, options, notes));
  if (!with_gradients) return result;
  try {
    for (const Value& gradient : recorded.gradients) result.gradients.push_back(load_result(gradient, options, notes));
  } catch (const SkipError& error) {
    result.gradients.clear();
    result.gradient_problem = error.what();
  }
  return result;
}

// A gradient that cannot be built leaves the forward to be checked.
void build_gradients(const ApiCall& call, const MaterialiseOptions& options, MaterialisedCall& result) {
  const Changes unchanged;
  Builder builder(call, options, unchanged, result.notes);
  try {
    if (call.grad_inputs.empty()) throw SkipError("Backward input of " + call.name + " is empty.");
    for (std::size_t i = 0; i < call.grad_inputs.size(); ++i) {
      result.gradients.push_back(builder.build(call.grad_inputs[i], "grad." + std::to_string(i)));
    }
  } catch (const SkipError& error) {
    result.gradients.clear();
    result.backward.run = false;
    result.backward.failure = error.what();
    result.backward.message += result.backward.failure;
  }
}

}  // namespace

void for_each_argument(const MaterialisedCall& call, const std::function<void(const Tensor&)>& visit) {
  const auto look = [&](const Value& leaf) {
    if (const Tensor* tensor = leaf.get<Tensor>()) visit(*tensor);
  };
  for (const Value& arg : call.args) for_each_leaf(arg, look);
  for (const auto& [key, value] : call.kwargs) for_each_leaf(value, look);
}

void for_each_input(const MaterialisedCall& call, const std::function<void(const Tensor&)>& visit) {
  for_each_argument(call, visit);
  for (const Value& gradient : call.gradients) {
    for_each_leaf(gradient, [&](const Value& leaf) {
      if (const Tensor* tensor = leaf.get<Tensor>()) visit(*tensor);
    });
  }
}

FirstArgument first_argument(const Operator& op, const MaterialisedCall& call) {
  if (!call.args.empty()) return {&call.args.front()};
  std::size_t tensors = 0;
  for (const auto& [key, value] : call.kwargs) {
    const auto is_first = [&keyword = key](const Overload& overload) {
      return overload.signature.names_first(keyword);
    };
    if (std::ranges::any_of(op.overloads(), is_first)) return {&value, tensors};
    for_each_leaf(value, [&](const Value& leaf) { tensors += leaf.is<Tensor>() ? 1 : 0; });
  }
  return {};
}

std::int64_t floating_arguments(const MaterialisedCall& call) {
  std::int64_t count = 0;
  for_each_argument(call, [&](const Tensor& tensor) { count += is_floating_or_complex(tensor.dtype()) ? 1 : 0; });
  return count;
}

MaterialisedCall with_inputs(const MaterialisedCall& call, const std::function<Tensor(const Tensor&)>& change) {
  const auto changed = [&](const Value& tree) {
    return transform_leaves(tree, [&](const Value& leaf) -> Value {
      const Tensor* tensor = leaf.get<Tensor>();
      return tensor == nullptr ? leaf : Value(change(*tensor));
    });
  };
  MaterialisedCall other = call;
  for (Value& arg : other.args) arg = changed(arg);
  for (auto& [key, value] : other.kwargs) value = changed(value);
  for (Value& gradient : other.gradients) gradient = changed(gradient);
  return other;
}

std::filesystem::path recorded_file(const TensorSpec& spec, const MaterialiseOptions& options) {
  const std::string& file = spec.file();
  if (options.data_root.empty())
    throw SkipError("The dump names the tensor file " + file + " but has no data directory.");
  std::filesystem::path path = options.data_root / file;
  if (options.data_folders.empty()) return path;
  // What cannot be resolved cannot be opened either, which is then said where it is read.
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, error);
  const bool inside =
      std::ranges::any_of(options.data_folders, [&](const auto& folder) { return lies_in(resolved, folder); });
  if (!error && !inside) throw SkipError(path.string() + " lies outside the folder of the dump and is not read.");
  return path;
}

BackwardPlan plan_backward(const ApiCall& call, const OperatorTraits& traits) {
  BackwardPlan plan;
  bool need_gradient = true;
  if (has_keyword(call, "out")) {
    need_gradient = false;
    plan.message += "function with out=... arguments don't support automatic differentiation, skip backward.";
  }
  if (!traits.backward_refusal.empty()) {
    need_gradient = false;
    plan.message += traits.backward_refusal;
  }
  plan.run = call.has_backward && need_gradient;
  return plan;
}

MaterialisedCall materialise(const ApiCall& call, const MaterialiseOptions& options) {
  const std::optional<ApiName> name = ApiName::parse(call.name);
  if (!name) throw SkipError("API " + call.name + " not support for acc_check. SKIP.");
  const OperatorTraits& traits = traits_of(*name);
  const Changes changes{traits.converts, traits.runs_in_hf32(name->api) && options.round_to_hf32};
  List args = call.args;
  Dict kwargs = call.kwargs;
  if (traits.adapt != nullptr) traits.adapt(args, kwargs);

  MaterialisedCall result;
  result.name = call.name;
  result.parts = *name;
  result.output_dtype = call.output_dtype;
  result.output_forms = call.output_forms;
  result.backward = plan_backward(call, traits);
  // Keyword arguments first: the order in which torch's stream is consumed.
  Builder builder(call, options, changes, result.notes);
  for (const auto& [key, value] : kwargs) result.kwargs.emplace_back(key, builder.build(value, "kwargs." + key));
  for (std::size_t i = 0; i < args.size(); ++i)
    result.args.push_back(builder.build(args[i], "args." + std::to_string(i)));

  const bool positional_gradients = !has_keyword(call, "out");
  for (std::size_t i = 0; i < args.size(); ++i)
    collect_flags(args[i], result.args[i], positional_gradients, result.requires_grad);
  // Keyword tensors: those given directly, never those in a list.
  for (std::size_t i = 0; i < kwargs.size(); ++i) {
    const Value& value = kwargs[i].second;
    collect_flags(value, result.kwargs[i].second, !value.is<List>(), result.requires_grad);
  }
  result.hf32_changed = builder.hf32_changed();
  if (result.backward.run) build_gradients(call, options, result);
  result.unbounded = std::ranges::any_of(args, is_unbounded) ||
                     std::ranges::any_of(kwargs, [](const auto& entry) { return is_unbounded(entry.second); }) ||
                     (result.backward.run && std::ranges::any_of(call.grad_inputs, is_unbounded));
  if (traits.fit != nullptr && options.fit_drawn && options.stream == nullptr) {
    DrawnCall drawn{call.args, call.kwargs, result.args, result.kwargs, result.gradients};
    traits.fit(drawn);
  }
  if (call.recorded) result.recorded = load_results(*call.recorded, result.backward.run, options, result.notes);
  return result;
}

std::uint64_t stream_words(const ApiCall& call, bool real_data, bool literal_ranges) {
  const std::optional<ApiName> name = ApiName::parse(call.name);
  if (!name) return 0;
  const OperatorTraits& traits = traits_of(*name);
  const Changes changes{traits.converts};
  List args = call.args;
  Dict kwargs = call.kwargs;
  if (traits.adapt != nullptr) traits.adapt(args, kwargs);
  const RangeRule rule = literal_ranges ? RangeRule::literal : RangeRule::finite;
  std::uint64_t words = 0;
  const auto count = [&](const Value& tree) {
    for_each_leaf(tree, [&](const Value& leaf) {
      const TensorSpec* spec = recorded_tensor(leaf);
      if (spec == nullptr || (real_data && has_file(*spec))) return;
      words += random_words_needed(converted(dtype_of(*spec), changes), spec->shape, range_of(*spec), rule);
    });
  };
  try {
    for (const auto& [key, value] : kwargs) count(value);
    for (const Value& arg : args) count(arg);
    if (plan_backward(call, traits).run) {
      for (const Value& gradient : call.grad_inputs) count(gradient);
    }
  } catch (const SkipError&) {
    // The call is refused at this argument: what came before has been drawn.
  }
  return words;
}

}  // namespace msrun
