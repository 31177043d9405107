#include "tools/op_generate/recorded_case.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include "kernels/base/error.h"
#include "kernels/base/lower_case.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/io/dump/dump_dialect.h"
#include "kernels/io/dump/dump_value.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/json/json_tree.h"
#include "kernels/tensor/mindspore_dtype.h"

namespace msrun::op_generate {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view framework_key = "framework";
constexpr std::string_view data_path_key = "real_data_path";
constexpr std::array torch_types{"Functional", "Tensor", "Torch"};
constexpr std::string_view npu_type = "NPU";
constexpr std::int64_t pytorch_seed = 1234;
constexpr std::int64_t mindspore_seed = 42;

std::string text_of(const JsonNode& object, std::string_view key) {
  const std::optional<JsonNode> found = find_member(object, key);
  return found && found->is_string() ? std::string(found->text()) : std::string();
}

// What Python takes for false.
bool is_empty_value(const JsonNode& node) {
  switch (node.kind()) {
    case JsonEvent::begin_object:
    case JsonEvent::begin_array:
      return node.count() == 0;
    case JsonEvent::string:
      return node.text().empty();
    case JsonEvent::integer:
    case JsonEvent::real:
      return node.number() == 0;
    case JsonEvent::boolean:
      return !node.boolean();
    default:
      return true;
  }
}

bool is_record(const std::optional<JsonNode>& node) { return node && node->is_object() && node->count() > 0; }

// The members of an extraction that are records of an API, by name, in the order of the file.
struct Members {
  std::optional<JsonNode> forward;
  std::optional<JsonNode> backward;
  std::size_t count = 0;
  std::string base;  // the name without direction
  std::size_t forward_records = 0;
  bool is_one_api = true;
};

Members members_of(const JsonNode& root) {
  Members members;
  std::optional<std::string> base;
  for (const JsonNode node : root) {
    if (node.key() == framework_key || node.key() == data_path_key) continue;
    ++members.count;
    std::string_view name = node.key();
    const std::optional<Direction> direction = split_direction(node.key(), name);
    if (!direction) throw UserError("Unexpected name in json: " + std::string(node.key()));
    members.is_one_api = members.is_one_api && (!base || *base == name);
    base = name;
    if (*direction == Direction::forward) ++members.forward_records;
    (*direction == Direction::forward ? members.forward : members.backward).emplace(node);
  }
  members.base = base.value_or("");
  return members;
}

void check_members(const Members& members, Direction propagation, bool mindspore) {
  if (members.count > 2) {
    throw UserError("json file has more than one API, the API only contains forward and backward info");
  }
  if (!is_record(members.forward)) throw UserError("Invalid forward API data in json_content!");
  if (mindspore && propagation == Direction::forward && members.forward_records == 2) {
    throw UserError("json file has more than one API, the API only contains forward info");
  }
  if (!members.is_one_api) {
    throw UserError("json file has more than one API, the API only contains forward and backward info");
  }
  if (propagation == Direction::forward) return;
  if (members.count < 2) throw UserError("Backward propagation requires contains forward and backward info!");
  if (!is_record(members.backward)) throw UserError("Invalid backward API data in json_content!");
}

bool holds_type(const JsonNode& node, std::string_view type) {
  if (!node.is_object() && !node.is_array()) return false;
  if (node.is_object() && text_of(node, "type") == type) return true;
  for (const JsonNode below : node) {
    if (holds_type(below, type)) return true;
  }
  return false;
}

Framework framework_of(const JsonNode& root) {
  const std::string word = lower_case(text_of(root, framework_key));
  if (word == "mindtorch") return Framework::mindtorch;
  if (word == "mindspore" || word == "ms") return Framework::mindspore;
  if (!word.empty()) return Framework::pytorch;
  return holds_type(root, "mindspore.Tensor") ? Framework::mindspore : Framework::pytorch;
}

// Type, API and index of the name. Throws UserError for names that no call has, and unknown APIs.
void name_call(const std::string& name, bool natively, RecordedCase& result) {
  constexpr std::string_view harmless = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
  const std::string type = name.substr(0, name.find('.'));
  const bool is_mint = result.framework != Framework::pytorch && type == "Mint";
  const bool is_supported = std::ranges::count(torch_types, type) > 0 || is_mint || (natively && type == npu_type);
  if (!is_supported) throw UserError("type " + type + " of API is not supported!");
  const std::optional<ApiName> parts = ApiName::parse(name);
  if (!parts || name.find_first_not_of(harmless) != std::string::npos || parts->api.empty() || parts->index.empty()) {
    throw UserError("Unexpected name in json: " + result.key());
  }
  if (operator_of(parts->type, parts->api) == nullptr) {
    throw UserError("The API " + parts->type + "." + parts->api + " is not known (msrun --list-apis lists all).");
  }
  result.type = parts->type;
  result.api = parts->api;
}

// Where the files of real data lie: a name that is not absolute begins in the folder that the program is run in, in
// that of the dump, or in the folder that the extraction names.
class DataFiles {
 public:
  DataFiles(const Configuration& configuration, const JsonNode& root) {
    folders_.emplace_back(fs::current_path());
    for (const std::string& path : {configuration.dump_path, configuration.extraction_path}) {
      if (!path.empty()) folders_.push_back(fs::absolute(path).parent_path());
    }
    if (const std::string folder = text_of(root, data_path_key); !folder.empty()) {
      for (std::size_t i = folders_.size(); i-- > 0;) folders_.push_back(folders_[i] / folder);
    }
  }

  std::string absolute(const std::string& name) const {
    std::error_code error;
    for (const fs::path& folder : folders_) {
      const fs::path path = (folder / name).lexically_normal();
      if (fs::exists(path, error)) return path.string();
    }
    return (folders_.front() / name).lexically_normal().string();
  }

 private:
  std::vector<fs::path> folders_;
};

// No device has the memory for a tensor of more.
constexpr std::int64_t most_elements = std::int64_t{1} << 36;

// Throws UserError where no tensor can be made of a description.
void check_generated(const TensorSpec& spec, Framework framework) {
  std::int64_t count = 0;
  try {
    count = element_count(spec.shape);
  } catch (const SkipError& error) {
    throw UserError(error.what());
  }
  if (count > most_elements) throw UserError("Shape " + tuple_text(spec.shape) + " has too many elements.");
  std::optional<DType> dtype = parse_dtype(spec.dtype);
  if (!dtype && framework != Framework::pytorch) dtype = parse_mindspore_dtype(spec.dtype);
  // MindSpore has dtypes that msrun lacks.
  const bool is_foreign = framework != Framework::pytorch && is_checked_mindspore_dtype(spec.dtype);
  if (!is_foreign && (!dtype || is_complex(*dtype) || is_float8(*dtype))) {
    const std::string way_out = !dtype || !is_complex(*dtype) || framework != Framework::pytorch
                                    ? ""
                                    : " Complex data are not drawn at random: record with the task tensor, and take "
                                      "--data_mode real_data.";
    throw UserError(spec.dtype.empty() ? "No dtype was recorded." : spec.dtype + " is not supported!" + way_out);
  }
}

// Makes values usable: those that can be rebuilt, the tensors with absolute paths in data_path. Throws UserError that
// names the file, the entry and the argument.
class Usable {
 public:
  Usable(const Configuration& configuration, const JsonNode& root, Framework framework, std::string entry)
      : files_(configuration, root),
        real_data_(configuration.data_mode == DataMode::real_data),
        framework_(framework),
        place_((configuration.dump_path.empty() ? configuration.extraction_path : configuration.dump_path) + ": " +
               std::move(entry) + ": ") {}

  Value operator()(const Value& value, const std::string& argument) const {
    return transform_leaves(value, [&](const Value& leaf) -> Value {
      if (const auto* unsupported = leaf.get<Unsupported>()) throw UserError(place_ + unsupported->reason);
      const TensorSpec* spec = recorded_tensor(leaf);
      if (spec == nullptr) return leaf;
      try {
        if (!real_data_ || spec->file().empty()) check_generated(*spec, framework_);
      } catch (const UserError& error) {
        throw UserError(place_ + argument + ": " + error.what());
      }
      auto changed = std::make_shared<TensorSpec>(*spec);
      if (!spec->file().empty()) changed->data_path = files_.absolute(spec->file());
      return std::shared_ptr<const TensorSpec>(std::move(changed));
    });
  }

  List list(const List& values, const std::string& name) const {
    List result;
    for (const Value& value : values)
      result.push_back((*this)(value, name + "[" + std::to_string(result.size()) + "]"));
    return result;
  }

  Dict dict(const Dict& values, const std::string& name) const {
    Dict result;
    for (const auto& [key, value] : values) {
      if (key == "generator" && !value.is_none()) throw UserError(place_ + "A recorded generator cannot be rebuilt.");
      result.emplace_back(key, (*this)(value, name + "." + key));
    }
    return result;
  }

 private:
  DataFiles files_;
  bool real_data_;
  Framework framework_;
  std::string place_;
};

DumpEntry entry_of(const JsonNode& record, std::string_view name) {
  ValueReader reader{pytorch_dump()};
  DumpEntry entry;
  if (const auto args = find_member(record, "input_args"); args && args->is_array()) {
    entry.args = reader.list(*args, Where("input_args"));
  }
  if (const auto kwargs = find_member(record, "input_kwargs"); kwargs && kwargs->is_object()) {
    entry.kwargs = reader.dict(*kwargs, Where("input_kwargs"));
  }
  if (const auto outputs = find_member(record, "output"); outputs && outputs->is_array()) {
    const List results = reader.list(*outputs, Where("output"));
    const TensorSpec* first = recorded_tensor(results, 0);
    if (first != nullptr) entry.output_dtype = first->dtype;
    if (first != nullptr) entry.output_rank = first->shape.size();
  }
  pytorch_dump().complete(name, entry);
  return entry;
}

// The dtype of the first result; empty if that is no tensor.
std::string output_dtype_of(const JsonNode& record) {
  const std::optional<JsonNode> outputs = find_member(record, "output");
  if (!outputs || !outputs->is_array() || outputs->count() == 0) return "";
  const JsonNode first = *outputs->begin();
  return first.is_object() ? text_of(first, "dtype") : "";
}

// The absolute value of a complex number is computed, where that of a real one is moved.
bool makes_real_of_complex(const RecordedCase& recorded, const std::string& output_dtype) {
  const std::optional<DType> output = parse_dtype(output_dtype);
  bool any_complex = false;
  for (const Value& value : recorded.args) {
    for_each_leaf(value, [&](const Value& leaf) {
      const TensorSpec* spec = recorded_tensor(leaf);
      const std::optional<DType> dtype = spec == nullptr ? std::nullopt : parse_dtype(spec->dtype);
      any_complex = any_complex || (dtype && is_complex(*dtype));
    });
  }
  return any_complex && output && is_floating(*output);
}

struct Gradients {
  std::string key;  // under which they stand
  List values;
};

Gradients gradients_of(const JsonNode& record) {
  for (const char* key : {"grad_input", "input"}) {
    const std::optional<JsonNode> list = find_member(record, key);
    if (!list || !list->is_array()) continue;
    ValueReader reader{pytorch_dump()};
    return {key, reader.list(*list, Where(key))};
  }
  throw UserError("Invalid backward API data in json_content!");
}

void for_each_argument(const RecordedCase& recorded, const std::function<void(const Value&)>& visit) {
  for (const Value& value : recorded.args) for_each_leaf(value, visit);
  for (const auto& [key, value] : recorded.kwargs) for_each_leaf(value, visit);
  for (const Value& value : recorded.gradients) for_each_leaf(value, visit);
}

// Whether an argument is a dtype.
bool names_dtype(const RecordedCase& recorded) {
  bool found = false;
  for_each_argument(recorded, [&](const Value& leaf) { found = found || leaf.is<DType>(); });
  return found;
}

// The call with small tensors in place of the recorded ones, to be asked what it would do.
MaterialisedCall small_call(const RecordedCase& recorded) {
  const auto small = [](const Value& value) {
    return transform_leaves(value, [](const Value& leaf) -> Value {
      const TensorSpec* spec = recorded_tensor(leaf);
      if (spec == nullptr) return leaf;
      return Tensor::full(DType::float32, Dims(std::min(spec->shape.size(), Dims::max_rank), 1), 1);
    });
  };
  MaterialisedCall smallest;
  smallest.name = recorded.name;
  smallest.parts = {recorded.type, recorded.api, "0"};
  for (const Value& value : recorded.args) smallest.args.push_back(small(value));
  for (const auto& [key, value] : recorded.kwargs) smallest.kwargs.emplace_back(key, small(value));
  return smallest;
}

// Whether it gives a text: the name of its dtype, which must be the recorded one.
bool gives_text(const Operator& op, const RecordedCase& recorded) {
  try {
    return evaluate(op, small_call(recorded), {}).output.is<std::string>();
  } catch (const SkipError&) {
    return false;
  }
}

// Whether it drops elements at random.
bool drops_at_random(const Operator& op, const RecordedCase& recorded) {
  try {
    return evaluate(op, small_call(recorded), {}).notes.dropping.has_value();
  } catch (const SkipError&) {
    return false;  // whoever runs it will say
  }
}

// What is known of the operator that is called.
void take_traits(const Operator& op, RecordedCase& recorded) {
  const OperatorTraits& traits = op.traits();
  if (traits.adapt != nullptr) traits.adapt(recorded.args, recorded.kwargs);
  // Bytes that are read as another dtype are those of the recorded one.
  const bool reads_bytes = traits.copies_only && names_dtype(recorded);
  recorded.raises = !traits.keeps_dtypes && !reads_bytes && !gives_text(op, recorded);
  if (!traits.uncheckable.empty()) recorded.not_compared = op.name + " " + std::string(traits.uncheckable);
  if (traits.random_zeros && drops_at_random(op, recorded)) {
    recorded.not_compared = op.name + " drops elements at random: there is no expected result to compare with.";
  }
}

// The file that the user knows the recording by.
const std::string& source_of(const Configuration& configuration) {
  return configuration.dump_path.empty() ? configuration.extraction_path : configuration.dump_path;
}

}  // namespace

const Operator* operator_of(const std::string& type, const std::string& api) {
  if (const Operator* found = find_operator(type, api)) return found;
  // The dumper shortens the names of families such as torch.fft; others write them out.
  const std::size_t dot = api.find('.');
  if (dot == std::string::npos || type != "Torch") return nullptr;
  std::string canonical = api;
  canonical[dot] = '_';
  return find_canonical(canonical);
}

bool has_script(const RecordedCase& recorded) { return recorded.type != npu_type; }

void check_data(const Configuration& configuration, const RecordedCase& recorded) {
  if (recorded.data_mode != DataMode::real_data) return;
  std::size_t tensors = 0;
  std::size_t files = 0;
  const auto count = [&](const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr) return;
    ++tensors;
    if (!spec->file().empty()) ++files;
  };
  for_each_argument(recorded, count);
  if (tensors == 0 || files > 0) return;
  throw UserError("data_mode real_data: " + source_of(configuration) + " holds no tensors of " + recorded.key() +
                  ", only their statistics; random_data builds some.");
}

void check_native_run(const Configuration& configuration, const RecordedCase& recorded) {
  bool is_foreign = recorded.framework == Framework::mindspore;
  for_each_argument(recorded, [&](const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec != nullptr && !parse_dtype(spec->dtype) && parse_mindspore_dtype(spec->dtype)) is_foreign = true;
  });
  if (!is_foreign) return;
  throw UserError("--run is for PyTorch recordings, and " + source_of(configuration) +
                  " is one of MindSpore: leave --run out, and run the script that is written.");
}

RecordedCase read_case(const Configuration& configuration, const std::string& text, bool natively) {
  const std::string path = fs::absolute(configuration.extraction_path).lexically_normal().string();
  JsonTree tree;
  JsonReader reader(path, memory_source(text));
  reader.keep_bytes_of_file_names();
  if (text.size() >= max_extraction_bytes || tree.read(reader) != JsonTree::Outcome::complete) {
    throw UserError("The file " + path + " is too large or nested too deeply for one API.");
  }
  reader.next();  // nothing but white space may follow
  const JsonNode root = tree.root();
  RecordedCase result;
  result.framework = framework_of(root);
  result.propagation = configuration.propagation;
  result.data_mode = configuration.data_mode;
  result.iterations = configuration.iterations;
  result.seed = configuration.seed.value_or(result.framework == Framework::pytorch ? pytorch_seed : mindspore_seed);
  check_iterations(result.iterations, result.framework != Framework::pytorch);
  if (is_empty_value(root)) throw UserError("json file is empty!");
  if (!root.is_object()) throw UserError("content of json file is not a dict!");
  const Members members = members_of(root);
  check_members(members, result.propagation, result.framework != Framework::pytorch);
  result.name = members.base;
  name_call(members.base, natively, result);

  const DumpEntry entry = entry_of(*members.forward, members.forward->key());
  const Usable forward(configuration, root, result.framework, std::string(members.forward->key()));
  result.args = forward.list(entry.args, "input_args");
  result.kwargs = forward.dict(entry.kwargs, "input_kwargs");
  if (result.propagation == Direction::backward) {
    const Gradients gradients = gradients_of(*members.backward);
    const Usable backward(configuration, root, result.framework, std::string(members.backward->key()));
    result.gradients = backward.list(gradients.values, gradients.key);
  }
  // Data are those of a pre-check: class indices that are classes, say.
  const Operator* op = has_script(result) ? operator_of(result.type, result.api) : nullptr;
  if (op != nullptr) {
    take_traits(*op, result);
    result.precision = precision_of(*op, ApiName{result.type, result.api, ""}, result.args, result.kwargs,
                                    output_dtype_of(*members.forward));
  }
  result.standard = select_standard(result.api, DType::float32, false, Policy::per_api);
  if (makes_real_of_complex(result, output_dtype_of(*members.forward))) result.standard = Standard::benchmark;
  return result;
}

}  // namespace msrun::op_generate
