// dump.json as msProbe records it for MindSpore, and the words in which its pre-check refuses what it holds
// (acc_check_mindspore.md 2, 3).
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "kernels/io/dump/dump_dialect.h"
#include "kernels/tensor/mindspore_dtype.h"

namespace msrun {
namespace {

constexpr std::array<std::string_view, 59> tensor_apis{"add_",
                                                       "add",
                                                       "addmm_",
                                                       "all",
                                                       "allclose",
                                                       "any",
                                                       "bool",
                                                       "byte",
                                                       "ceil",
                                                       "clamp",
                                                       "contiguous",
                                                       "copy_",
                                                       "cos",
                                                       "clone",
                                                       "cumprod",
                                                       "expand_as",
                                                       "flatten",
                                                       "float",
                                                       "half",
                                                       "int",
                                                       "is_contiguous",
                                                       "isnan",
                                                       "item",
                                                       "log",
                                                       "log2",
                                                       "long",
                                                       "masked_fill",
                                                       "max",
                                                       "mean",
                                                       "min",
                                                       "numel",
                                                       "numpy",
                                                       "repeat",
                                                       "repeat_interleave",
                                                       "reshape",
                                                       "round",
                                                       "select",
                                                       "sin",
                                                       "size",
                                                       "split",
                                                       "sqrt",
                                                       "square",
                                                       "sub",
                                                       "swapaxes",
                                                       "to",
                                                       "t",
                                                       "tolist",
                                                       "topk",
                                                       "transpose",
                                                       "trunc",
                                                       "type",
                                                       "unsqueeze",
                                                       "view",
                                                       "view_as",
                                                       "fill_",
                                                       "floor_",
                                                       "clamp_",
                                                       "type_as",
                                                       "zero_"};

constexpr std::string_view accepted_types =
    "dict_keys(['mindspore.Tensor', 'bool', 'int', 'float', 'slice', 'str', 'mindspore.dtype'])";

struct EntryName {
  std::string_view type;
  std::string_view api;
};

// The type and the API's name, which may hold dots, of an entry that has at least four segments.
std::optional<EntryName> parse(std::string_view entry) {
  if (std::ranges::count(entry, '.') < 3) return std::nullopt;
  const std::size_t first = entry.find('.');
  const std::size_t direction = entry.rfind('.');
  const std::size_t index = entry.rfind('.', direction - 1);
  return EntryName{entry.substr(0, first), entry.substr(first + 1, index - first - 1)};
}

bool mindspore_leaves_out(std::string_view entry) {
  const std::optional<EntryName> name = parse(entry);
  if (!name) return true;
  if (name->type == "Mint" || name->type == "MintFunctional") return false;
  if (name->type == "Tensor") return std::ranges::find(tensor_apis, name->api) == tensor_apis.end();
  return name->type != "Functional" || name->api != "flash_attention_score";
}

bool mindtorch_leaves_out(std::string_view entry) {
  const std::optional<EntryName> name = parse(entry);
  return !name || (name->type != "Torch" && name->type != "Functional" && name->type != "Tensor");
}

Unsupported refused(const std::string& problem) {
  return {"[msprobe] Api Accuracy Checker parse json failed: check_and_get_from_json_dict failed: " + problem};
}

Unsupported field_refused(std::string_view key, std::string_view problem) {
  return refused(std::string(key) + " field in api_info.json is " + std::string(problem));
}

// The field of that key, the last if it occurs again; nothing where it is missing or null.
std::optional<JsonNode> field_of(const JsonNode& object, std::string_view key) {
  std::optional<JsonNode> found;
  for (const JsonNode field : object) {
    if (field.key() == key) found = field;
  }
  return found && !found->is_null() ? found : std::nullopt;
}

// A dtype of the list in chapter 2.3; a reason for anything else.
std::optional<Unsupported> refuse_dtype(const std::optional<JsonNode>& node, std::string_view key) {
  if (!node) return field_refused(key, "missing");
  if (!node->is_string()) return field_refused(key, "not accepted type: <class 'str'>");
  if (is_checked_mindspore_dtype(node->text())) return std::nullopt;
  return field_refused(key, "not accepted value: dict_keys(" + checked_mindspore_dtypes() + ")");
}

// A statistic; absent unless it is a number or a boolean.
std::optional<double> statistic(const std::optional<JsonNode>& node) {
  if (!node) return std::nullopt;
  if (node->is_boolean()) return node->boolean() ? 1.0 : 0.0;
  return node->is_number() ? std::optional(node->number()) : std::nullopt;
}

// Sizes as recorded; nothing for what is no list of integers.
std::optional<std::vector<std::int64_t>> sizes(const JsonNode& node) {
  if (!node.is_array()) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (const JsonNode size : node) {
    if (!size.is_integer()) return std::nullopt;
    shape.push_back(size.integer());
  }
  return shape;
}

// torch's spelling where msrun has the dtype, else the dump's own.
std::string dtype_text(std::string_view recorded) {
  const std::optional<DType> dtype = parse_mindspore_dtype(recorded);
  return std::string(dtype ? torch_name(*dtype) : recorded);
}

Value tensor(const JsonNode& object) {
  const std::optional<JsonNode> dtype = field_of(object, "dtype");
  if (auto refusal = refuse_dtype(dtype, "dtype")) return *std::move(refusal);
  const std::optional<JsonNode> shape = field_of(object, "shape");
  if (!shape) return field_refused("shape", "missing");
  auto dims = sizes(*shape);
  if (!dims) return field_refused("shape", "not accepted type: <class 'list'>");
  const auto spec = std::make_shared<TensorSpec>();
  spec->dtype = dtype_text(dtype->text());
  spec->shape = *std::move(dims);
  if (const auto file = field_of(object, "data_name")) {
    if (!file->is_string()) return field_refused("data_name", "not accepted type: <class 'str'>");
    spec->data_name = file->text();
    if (spec->data_name.find('\0') != std::string::npos) return field_refused("data_name", "not accepted value");
  }
  for (const std::string_view key : {"Max", "Min"}) {
    const std::optional<JsonNode> value = field_of(object, key);
    const bool is_wrong = value && !statistic(value);
    if (is_wrong && spec->data_name.empty()) {
      return field_refused(key, "not accepted type: (<class 'int'>, <class 'float'>)");
    }
    (key == "Max" ? spec->max : spec->min) = statistic(value);
  }
  const std::optional<JsonNode> wants_gradient = field_of(object, "requires_grad");
  spec->requires_grad = wants_gradient && wants_gradient->is_boolean() && wants_gradient->boolean();
  return std::shared_ptr<const TensorSpec>(spec);
}

Value dtype_argument(const JsonNode& value) {
  if (auto refusal = refuse_dtype(value, "value")) return *std::move(refusal);
  if (const std::optional<DType> dtype = parse_mindspore_dtype(value.text())) return *dtype;
  return Unsupported{"[msprobe] Api Accuracy Checker get unsupported type: "};
}

// Python takes the value as it stands, whatever type is written beside it: false of an "int" is False. Infinite floats
// may be texts.
std::string_view literal_type(const JsonNode& value, std::string_view recorded) {
  if (recorded == "slice") return recorded;
  if (value.is_boolean()) return "bool";
  if (value.is_integer()) return "int";
  if (value.is_number()) return "float";
  return value.is_string() && recorded != "float" ? "str" : recorded;
}

Value described(const JsonNode& object, std::string_view type, const Where& where) {
  if (type == "mindspore.Tensor") return tensor(object);
  if (type != "mindspore.dtype" && type != "int" && type != "float" && type != "bool" && type != "str" &&
      type != "slice") {
    return field_refused("type", "not accepted value: " + std::string(accepted_types));
  }
  const std::optional<JsonNode> value = field_of(object, "value");
  if (!value) return field_refused("value", "missing");
  if (type == "mindspore.dtype") return dtype_argument(*value);
  return described_value(object, literal_type(*value, type), where);
}

Value undescribed(const JsonNode& node, const Where& /*where*/) {
  if (!node.is_object()) return refused("input is not a dict");
  return field_refused("type", field_of(node, "type") ? "not accepted type: <class 'str'>" : "missing");
}

// What is missing in an entry stands in place of the argument that is looked at first; the other direction of the call
// is checked all the same.
void complete(std::string_view entry, DumpEntry& content) {
  const bool forward = entry.ends_with(".forward");
  const std::string unit(entry.substr(0, entry.rfind('.')));
  const std::string problem = std::exchange(content.problem, {});
  const bool is_no_object = problem.starts_with("The entry must be an object");
  if (!is_no_object && !problem.empty() && problem.find(" must be ") == std::string::npos) {
    content.problem = problem;  // nested too deep, or too large
    return;
  }
  const auto reason = [&](const std::string& key, const std::string& description, const char* type) {
    if (is_no_object) return refused("input is not a dict");
    const bool is_other = problem.starts_with(key + " must be ") && !problem.ends_with("found null.");
    return refused(description + " in api_info.json is " +
                   (is_other ? std::string("not accepted type: ") + type : "missing"));
  };
  if (!forward) {
    if (content.has_grad_inputs) return;
    content.grad_inputs = {reason("input", "input field of " + unit + " backward api", "<class 'list'>")};
    return;
  }
  if (!content.has_args) {
    content.args = {reason("input_args", "input_args field of " + unit + " forward api", "<class 'list'>")};
  }
  if (!content.has_kwargs) content.kwargs = {{"", reason("input_kwargs", "input_kwargs", "<class 'dict'>")}};
}

}  // namespace

const DumpDialect& mindspore_dump() {
  static constexpr DumpDialect dialect{mindspore_leaves_out, described, complete, undescribed};
  return dialect;
}

const DumpDialect& mindtorch_dump() {
  static constexpr DumpDialect dialect{mindtorch_leaves_out, described, complete, undescribed};
  return dialect;
}

}  // namespace msrun
