#include "kernels/io/dump/dump_value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <utility>

#include "kernels/base/lower_case.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/dump_dialect.h"

namespace msrun {
namespace {

enum class Kind : std::uint8_t {
  tensor,
  integer,
  real,
  boolean,
  text,
  none,
  slice,
  ellipsis,
  size,
  dtype,
  mindspore_dtype,
  device,
  numpy_integer,
  numpy_real,
  numpy_half,
  numpy_float,
  ndarray,
};

struct TypeName {
  std::string_view text;
  Kind kind;
};

constexpr std::array type_names{
    TypeName{"torch.Tensor", Kind::tensor},
    TypeName{"int", Kind::integer},
    TypeName{"float", Kind::real},
    TypeName{"bool", Kind::boolean},
    TypeName{"str", Kind::text},
    TypeName{"NoneType", Kind::none},
    TypeName{"slice", Kind::slice},
    TypeName{"ellipsis", Kind::ellipsis},
    TypeName{"torch.Size", Kind::size},
    TypeName{"torch.dtype", Kind::dtype},
    TypeName{"torch.device", Kind::device},
    TypeName{"torch.memory_format", Kind::none},
    TypeName{"torch.ProcessGroup", Kind::none},
    TypeName{"torch.distributed.ReduceOp", Kind::text},
    TypeName{"mindspore.Tensor", Kind::tensor},
    TypeName{"mindspore.dtype", Kind::mindspore_dtype},
    TypeName{"torch.nn.parameter.Parameter", Kind::tensor},
    TypeName{"torch.distributed.tensor.DTensor", Kind::tensor},
    TypeName{"torch._subclasses.fake_tensor.FakeTensor", Kind::tensor},
    TypeName{"torch.distributed._functional_collectives.AsyncCollectiveTensor", Kind::tensor},
    TypeName{"BatchedTensor", Kind::tensor},
    TypeName{"GradTrackingTensor", Kind::tensor},
    TypeName{"numpy.ndarray", Kind::ndarray},
};

// numpy scalars, without the prefix "numpy.". Newer dumps leave it away and record the plain value.
constexpr std::array numpy_names{
    TypeName{"int8", Kind::numpy_integer},    TypeName{"int16", Kind::numpy_integer},
    TypeName{"int32", Kind::numpy_integer},   TypeName{"int64", Kind::numpy_integer},
    TypeName{"uint8", Kind::numpy_integer},   TypeName{"uint16", Kind::numpy_integer},
    TypeName{"uint32", Kind::numpy_integer},  TypeName{"uint64", Kind::numpy_integer},
    TypeName{"float16", Kind::numpy_half},    TypeName{"float32", Kind::numpy_float},
    TypeName{"float64", Kind::numpy_real},    TypeName{"float128", Kind::numpy_real},
    TypeName{"longdouble", Kind::numpy_real}, TypeName{"bool_", Kind::boolean},
    TypeName{"bool", Kind::boolean},          TypeName{"str_", Kind::text},
    TypeName{"string_", Kind::text},          TypeName{"bytes_", Kind::text},
    TypeName{"unicode_", Kind::text},
};

template <std::size_t N>
const Kind* find_kind(const std::array<TypeName, N>& names, std::string_view text) {
  for (const TypeName& name : names) {
    if (name.text == text) return &name.kind;
  }
  return nullptr;
}

// Text of the recording. A NUL in it would end the Message or the path that it becomes part of.
std::string without_nul(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '\0') {
      result += "\u2400";
    } else {
      result += c;
    }
  }
  return result;
}

Unsupported malformed(const Where& where, std::string_view expected) {
  return {where.text() + " must be " + std::string(expected) + "."};
}

// A statistic; one that is neither number nor boolean counts as absent.
std::optional<double> statistic(const JsonNode& node) {
  if (node.is_number()) return node.number();
  if (node.is_boolean()) return node.boolean() ? 1.0 : 0.0;
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> integers(const JsonNode& node) {
  if (!node.is_array()) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const JsonNode item : node) {
    if (!item.is_integer()) return std::nullopt;
    values.push_back(item.integer());
  }
  return values;
}

// An extremum as Python prints it.
std::string extremum_text(const std::string& written, const std::optional<double>& value) {
  if (!written.empty()) return written;
  if (!value) return "None";
  if (std::isnan(*value)) return "nan";
  if (std::isinf(*value)) return *value > 0 ? "inf" : "-inf";
  std::string text = short_number(*value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Value tensor(const JsonNode& object, const Where& where) {
  const auto spec = std::make_shared<TensorSpec>();
  std::optional<double> max_origin;
  std::optional<double> min_origin;
  std::string max_text;  // extrema that are written as texts, which are no numbers
  std::string min_text;
  bool has_dtype = false;
  bool has_shape = false;
  for (const JsonNode field : object) {
    const std::string_view key = field.key();
    if (key == "dtype") {
      if (!field.is_string()) return malformed(Where(where, key), "a string");
      spec->dtype = without_nul(field.text());
      has_dtype = true;
    } else if (key == "shape") {
      auto sizes = integers(field);
      if (!sizes) return malformed(Where(where, key), "a list of integers");
      spec->shape = std::move(*sizes);
      has_shape = true;
    } else if (key == "Max") {
      spec->max = statistic(field);
      max_text = field.is_string() ? bounded(without_nul(field.text())) : "";
    } else if (key == "Min") {
      spec->min = statistic(field);
      min_text = field.is_string() ? bounded(without_nul(field.text())) : "";
    } else if (key == "Mean") {
      spec->mean = statistic(field);
    } else if (key == "Norm") {
      spec->norm = statistic(field);
    } else if (key == "Max_except_inf_nan") {
      spec->max_finite = statistic(field);
    } else if (key == "Min_except_inf_nan") {
      spec->min_finite = statistic(field);
    } else if (key == "Max_origin") {
      max_origin = statistic(field);
    } else if (key == "Min_origin") {
      min_origin = statistic(field);
    } else if (key == "requires_grad") {
      spec->requires_grad = field.is_boolean() && field.boolean();
    } else if (key == "data_name" || key == "datapath") {
      if (field.is_null()) continue;
      if (!field.is_string()) return malformed(Where(where, key), "a string");
      (key == "datapath" ? spec->data_path : spec->data_name) = without_nul(field.text());
    }
  }
  // ATT of 2024 keeps the true extrema apart and writes the finite ones as Max and Min.
  if (max_origin) spec->max_finite = std::exchange(spec->max, max_origin);
  if (min_origin) spec->min_finite = std::exchange(spec->min, min_origin);
  const bool on_disk = !spec->data_name.empty() || !spec->data_path.empty();
  if (!has_dtype && !on_disk) return Unsupported{where.text() + " is a tensor without dtype."};
  if (!has_shape && !on_disk) return Unsupported{where.text() + " is a tensor without shape."};
  const auto low = spec->min_finite ? spec->min_finite : spec->min;
  const auto high = spec->max_finite ? spec->max_finite : spec->max;
  const bool is_written = (!low && !min_text.empty()) || (!high && !max_text.empty());
  if (is_written && !on_disk && std::ranges::find(spec->shape, 0) == spec->shape.end()) {
    // As msProbe words it; the texts are gone once this is a TensorSpec.
    return Unsupported{"Data info Min: " + extremum_text(low ? "" : min_text, low) +
                       " , Max: " + extremum_text(high ? "" : max_text, high) + ", info type must be int or float."};
  }
  return std::shared_ptr<const TensorSpec>(spec);
}

Value integer(const JsonNode& value, const Where& where) {
  if (value.is_integer()) return value.integer();
  if (value.is_boolean()) return value.boolean();
  if (!value.is_number()) return malformed(where, "an integer");
  const double number = value.number();
  if (number != std::trunc(number)) return number;
  if (!(std::fabs(number) < 0x1p63)) return Unsupported{where.text() + " does not fit 64 bits."};
  return static_cast<std::int64_t>(number);
}

Value real(const JsonNode& value, const Where& where, Kind kind) {
  if (!value.is_number()) return malformed(where, "a number");
  const double number = value.number();
  if (kind == Kind::numpy_float) return static_cast<double>(static_cast<float>(number));
  if (kind == Kind::numpy_half) return static_cast<double>(as_half(static_cast<float>(number)));
  return number;
}

Value boolean(const JsonNode& value, const Where& where) {
  if (value.is_boolean()) return value.boolean();
  if (value.is_integer() && (value.integer() == 0 || value.integer() == 1)) return value.integer() == 1;
  return malformed(where, "a boolean");
}

Value slice(const JsonNode& value, const Where& where) {
  static constexpr std::string_view expected = "a list of three integers or nulls";
  if (!value.is_array() || value.count() != 3) return malformed(where, expected);
  std::array<std::optional<std::int64_t>, 3> bounds;
  std::size_t position = 0;
  for (const JsonNode bound : value) {
    if (!bound.is_integer() && !bound.is_null()) return malformed(where, expected);
    if (bound.is_integer()) bounds[position] = bound.integer();
    ++position;
  }
  return Slice{bounds[0], bounds[1], bounds[2]};
}

Value size(const JsonNode& value, const Where& where) {
  const auto sizes = integers(value);
  if (!sizes) return malformed(where, "a list of integers");
  return List(sizes->begin(), sizes->end());
}

Value dtype(const JsonNode& value, const Where& where, Kind kind) {
  if (!value.is_string()) return malformed(where, "a string");
  std::string text(value.text());
  // The recorder describes every keyword argument of this name so, dtype=None as well.
  if (text == "None") return None{};
  if (kind == Kind::mindspore_dtype) text = lower_case(text);
  if (const auto known = parse_dtype(text)) return *known;
  return Unsupported{"Dtype is not supported: " + without_nul(value.text())};
}

// Falsy values are a device without a name (acc_check_pytorch.md 6.9).
Value device(const JsonNode& value, const Where& where) {
  if (value.is_null()) return DeviceName{};
  if (value.is_string()) return DeviceName{without_nul(value.text())};
  if (!value.is_integer()) return malformed(where, "a string or an integer");
  return DeviceName{value.integer() == 0 ? std::string() : std::to_string(value.integer())};
}

bool is_described(const JsonNode& node) {
  for (const JsonNode field : node) {
    if (field.key() == "type" && field.is_string()) return true;
  }
  return false;
}

}  // namespace

Value described_value(const JsonNode& object, std::string_view type, const Where& where) {
  const Kind* kind = find_kind(type_names, type);
  if (kind == nullptr) {
    static constexpr std::string_view numpy = "numpy.";
    const bool prefixed = type.starts_with(numpy);
    kind = find_kind(numpy_names, prefixed ? type.substr(numpy.size()) : type);
    // Only the prefixed form means a scalar of that very type.
    static constexpr Kind plain = Kind::numpy_real;
    if (kind != nullptr && !prefixed && (*kind == Kind::numpy_float || *kind == Kind::numpy_half)) kind = &plain;
  }
  if (kind == nullptr) return Unsupported{"Type " + without_nul(type) + " of " + where.text() + " is not supported."};
  switch (*kind) {
    case Kind::tensor:
      return tensor(object, where);
    case Kind::none:
      return None{};
    case Kind::ellipsis:
      return Ellipsis{};
    case Kind::ndarray:
      return Unsupported{"numpy.ndarray is not supported now"};
    default:
      break;
  }
  std::optional<JsonNode> found;
  for (const JsonNode field : object) {
    if (field.key() == "value") found = field;
  }
  // Of device=None there is the type alone.
  if (!found && *kind == Kind::device) return DeviceName{};
  if (!found) return Unsupported{where.text() + " has no value."};
  const JsonNode& value = *found;
  const Where at(where, "value");
  switch (*kind) {
    case Kind::integer:
    case Kind::numpy_integer:
      return integer(value, at);
    case Kind::boolean:
      return boolean(value, at);
    case Kind::text:
      return value.is_string() ? Value(without_nul(value.text())) : malformed(at, "a string");
    case Kind::slice:
      return slice(value, at);
    case Kind::size:
      return size(value, at);
    case Kind::dtype:
    case Kind::mindspore_dtype:
      return dtype(value, at, *kind);
    case Kind::device:
      return device(value, at);
    default:
      return real(value, at, *kind);
  }
}

std::string Where::text() const {
  if (is_index_) return parent_->text() + "[" + std::to_string(index_) + "]";
  return (parent_ == nullptr ? "" : parent_->text() + ".") + without_nul(key_);
}

Value ValueReader::value(const JsonNode& node, const Where& where) {
  if (node.is_array()) return list(node, where);
  if (dialect.undescribed != nullptr && !node.is_null() && !is_described(node)) {
    return dialect.undescribed(node, where);
  }
  switch (node.kind()) {
    case JsonEvent::string:
      return without_nul(node.text());
    case JsonEvent::integer:
      return node.integer();
    case JsonEvent::real:
      return node.number();
    case JsonEvent::boolean:
      return node.boolean();
    case JsonEvent::begin_object:
      break;
    default:
      return None{};
  }
  if (node.begin() == node.end()) return Unsupported{where.text() + " was not recorded.", true};
  std::optional<JsonNode> type;
  std::optional<JsonNode> class_type;
  for (const JsonNode field : node) {
    if (field.key() == "type") type = field;
    if (field.key() == "class_type") class_type = field;
  }
  if (type && type->is_string()) {
    if (type->text().starts_with("mindspore.")) framework = "mindspore";
    Value described = dialect.described(node, type->text(), where);
    count(node, described);
    return described;
  }
  if (class_type && class_type->is_string()) {
    return Unsupported{"Type " + without_nul(class_type->text()) + " of " + where.text() + " is not supported."};
  }
  return dict(node, where);
}

void ValueReader::count(const JsonNode& object, const Value& value) {
  const TensorSpec* spec = recorded_tensor(value);
  if (spec == nullptr) return;
  if (spec->max || spec->min || !spec->file().empty()) {
    ++tensors_with_data;
    return;
  }
  for (const JsonNode field : object) {
    if (field.key() != "md5" || field.is_null()) continue;
    ++tensors_with_checksum;
    return;
  }
}

List ValueReader::list(const JsonNode& array, const Where& where) {
  List items;
  items.reserve(array.count());
  for (const JsonNode item : array) items.push_back(value(item, Where(where, items.size())));
  return items;
}

Dict ValueReader::dict(const JsonNode& object, const Where& where) {
  Dict items;
  items.reserve(object.count());
  std::unordered_map<std::string_view, std::size_t> positions;
  for (const JsonNode field : object) {
    Value item = value(field, Where(where, field.key()));
    const auto [position, is_new] = positions.try_emplace(field.key(), items.size());
    if (is_new) {
      items.emplace_back(without_nul(field.key()), std::move(item));
    } else {
      items[position->second].second = std::move(item);
    }
  }
  return items;
}

}  // namespace msrun
