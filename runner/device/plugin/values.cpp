#include "runner/device/plugin/values.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "kernels/base/error.h"
#include "kernels/base/saturated.h"
#include "kernels/base/text.h"
#include "kernels/tensor/element_hash.h"

namespace msrun {
namespace {

// More than any call returns, and less than what takes memory or stack to no end.
constexpr std::uint64_t most_items = 1 << 20;
constexpr int deepest = 64;

static_assert(static_cast<int>(DType::boolean) == MSRUN_BOOL && static_cast<int>(DType::int64) == MSRUN_INT64 &&
              static_cast<int>(DType::float16) == MSRUN_FLOAT16 && static_cast<int>(DType::float32) == MSRUN_FLOAT32 &&
              static_cast<int>(DType::float64) == MSRUN_FLOAT64 &&
              static_cast<int>(DType::float8_e5m2) == MSRUN_FLOAT8_E5M2 &&
              static_cast<int>(DType::complex64) == MSRUN_COMPLEX64 &&
              static_cast<int>(DType::complex128) == MSRUN_COMPLEX128 && dtype_count == MSRUN_COMPLEX128 + 1);

DType dtype_of(std::int64_t number) {
  if (number < 0 || number >= dtype_count) throw DeviceError("there is no dtype " + std::to_string(number));
  return static_cast<DType>(number);
}

std::string text_of(const char* text) {
  if (text == nullptr) throw DeviceError("a text is null");
  return text;
}

std::uint64_t hash_of(const Tensor& tensor) {
  return hash_of_bytes(tensor.raw(), static_cast<std::size_t>(tensor.bytes()), 0);
}

class ResultReader {
 public:
  Value value(const msrun_value& value, int depth) {
    if (depth > deepest || ++items_ > most_items) throw DeviceError("the output is too deep or has too many items");
    switch (value.kind) {
      case MSRUN_NONE:
        return None{};
      case MSRUN_FLAG:
        return value.as.integer != 0;
      case MSRUN_INTEGER:
        return value.as.integer;
      case MSRUN_REAL:
        return value.as.real;
      case MSRUN_TEXT:
        return text_of(value.as.text);
      case MSRUN_DTYPE:
        return dtype_of(value.as.integer);
      case MSRUN_ELLIPSIS:
        return Ellipsis{};
      case MSRUN_DEVICE:
        return DeviceName{text_of(value.as.text)};
      case MSRUN_SLICE:
        return slice(value.as.slice);
      case MSRUN_TENSOR:
        return tensor(value.as.tensor);
      case MSRUN_LIST:
        return list(value.as.list, depth);
      case MSRUN_DICT:
        return dict(value.as.dict, depth);
      default:
        throw DeviceError("a value is of the kind " + std::to_string(value.kind) + ", which there is not");
    }
  }

  List list(const msrun_list& values, int depth) {
    if (values.count > most_items) throw DeviceError("a list has " + std::to_string(values.count) + " items");
    if (values.count > 0 && values.items == nullptr) throw DeviceError("the items of a list are null");
    List result;
    for (std::uint64_t i = 0; i < values.count; ++i) result.push_back(value(values.items[i], depth + 1));
    return result;
  }

 private:
  static Value slice(const msrun_slice& slice) {
    const auto part = [](std::int32_t given, std::int64_t number) {
      return given != 0 ? std::optional<std::int64_t>(number) : std::nullopt;
    };
    return Slice{part(slice.has_start, slice.start), part(slice.has_stop, slice.stop),
                 part(slice.has_step, slice.step)};
  }

  Value dict(const msrun_dict& values, int depth) {
    if (values.count > most_items) throw DeviceError("a dict has " + std::to_string(values.count) + " entries");
    if (values.count > 0 && values.entries == nullptr) throw DeviceError("the entries of a dict are null");
    Dict result;
    for (std::uint64_t i = 0; i < values.count; ++i) {
      const msrun_entry& entry = values.entries[i];
      result.emplace_back(text_of(entry.key), value(entry.value, depth + 1));
    }
    return result;
  }

  static Value tensor(const msrun_tensor& tensor) {
    const DType dtype = dtype_of(tensor.dtype);
    if (tensor.rank < 0) throw DeviceError("a tensor has " + std::to_string(tensor.rank) + " dimensions");
    if (tensor.rank > static_cast<std::int32_t>(Dims::max_rank)) {
      throw DeviceError("a tensor has more than 16 dimensions");
    }
    if (tensor.rank > 0 && tensor.sizes == nullptr) throw DeviceError("the sizes of a tensor are null");
    Dims sizes;
    std::uint64_t bytes = size_of(dtype);
    for (std::int32_t i = 0; i < tensor.rank; ++i) {
      if (tensor.sizes[i] < 0) throw DeviceError("a tensor has the size " + std::to_string(tensor.sizes[i]));
      sizes.push_back(tensor.sizes[i]);
      bytes = saturated_product(bytes, static_cast<std::uint64_t>(tensor.sizes[i]));
    }
    if (bytes != tensor.bytes) {
      throw DeviceError("a tensor of " + std::string(name(dtype)) + " and shape " +
                        tuple_text({sizes.data(), sizes.size()}) + " has " + std::to_string(tensor.bytes) +
                        " bytes, not " + std::to_string(bytes));
    }
    if (bytes > 0 && tensor.data == nullptr) throw DeviceError("the elements of a tensor are null");
    return tensor_of(dtype, sizes, {static_cast<const std::byte*>(tensor.data), bytes});
  }

  std::uint64_t items_ = 0;
};

}  // namespace

PluginCall::PluginCall(const DeviceCall& call) : device_call_(call), operator_name_(call.operator_name) {
  const MaterialisedCall& materialised = call.materialised;
  call_.size = sizeof(call_);
  call_.name = materialised.name.c_str();
  call_.type = materialised.parts.type.c_str();
  call_.api = materialised.parts.api.c_str();
  call_.canonical = operator_name_.c_str();
  call_.args = list(materialised.args);
  call_.kwargs = dict(materialised.kwargs);
  in_arguments_ = false;
  const std::optional<DType> autocast = autocast_of(call);
  call_.autocast = autocast ? static_cast<std::int32_t>(*autocast) : -1;
  call_.backward = materialised.backward.run ? 1 : 0;
  if (materialised.backward.run) call_.output_gradients = list(materialised.gradients);
  call_.only_output = call.only_output ? static_cast<std::int64_t>(*call.only_output) : -1;
  const std::optional<std::uint64_t> seed = seed_of(call);
  call_.has_seed = seed ? 1 : 0;
  call_.seed = seed.value_or(0);
}

msrun_list PluginCall::list(const List& values) {
  std::vector<msrun_value>& items = lists_.emplace_back();
  items.reserve(values.size());
  for (const Value& item : values) items.push_back(value(item));
  return {items.data(), items.size()};
}

msrun_dict PluginCall::dict(const Dict& values) {
  std::vector<msrun_entry>& entries = dicts_.emplace_back();
  entries.reserve(values.size());
  for (const auto& [key, item] : values) entries.push_back({key.c_str(), value(item)});
  return {entries.data(), entries.size()};
}

msrun_value PluginCall::tensor(const Tensor& tensor) {
  const Tensor& source = tensors_.emplace_back(tensor.contiguous());
  hashes_.push_back(hash_of(source));
  const bool asks = in_arguments_ && asks_gradient(device_call_.materialised, tensor_count_++, tensor);
  msrun_value result{};
  result.kind = MSRUN_TENSOR;
  result.as.tensor = {source.raw(),
                      source.bytes(),
                      source.shape().data(),
                      static_cast<std::int32_t>(source.rank()),
                      static_cast<msrun_dtype>(source.dtype()),
                      asks ? 1 : 0,
                      0};
  return result;
}

std::optional<std::string> PluginCall::changed_tensor() const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (hash_of(tensors_[i]) == hashes_[i]) continue;
    return i < tensor_count_ ? "input " + std::to_string(i) : "output gradient " + std::to_string(i - tensor_count_);
  }
  return std::nullopt;
}

msrun_value PluginCall::value(const Value& value) {
  msrun_value result{};
  if (const auto* flag = value.get<bool>()) {
    result.kind = MSRUN_FLAG;
    result.as.integer = *flag ? 1 : 0;
  } else if (const auto* integer = value.get<std::int64_t>()) {
    result.kind = MSRUN_INTEGER;
    result.as.integer = *integer;
  } else if (const auto* real = value.get<double>()) {
    result.kind = MSRUN_REAL;
    result.as.real = *real;
  } else if (const auto* text = value.get<std::string>()) {
    result.kind = MSRUN_TEXT;
    result.as.text = text->c_str();
  } else if (const auto* dtype = value.get<DType>()) {
    result.kind = MSRUN_DTYPE;
    result.as.integer = static_cast<std::int64_t>(*dtype);
  } else if (const auto* part = value.get<Slice>()) {
    result.kind = MSRUN_SLICE;
    result.as.slice = {part->start.value_or(0),
                       part->stop.value_or(0),
                       part->step.value_or(0),
                       part->start ? 1 : 0,
                       part->stop ? 1 : 0,
                       part->step ? 1 : 0,
                       0};
  } else if (value.is<Ellipsis>()) {
    result.kind = MSRUN_ELLIPSIS;
  } else if (const auto* device = value.get<DeviceName>()) {
    result.kind = MSRUN_DEVICE;
    result.as.text = device->text.c_str();
  } else if (const auto* leaf = value.get<Tensor>()) {
    return tensor(*leaf);
  } else if (const auto* items = value.get<List>()) {
    result.kind = MSRUN_LIST;
    result.as.list = list(*items);
  } else if (const auto* entries = value.get<Dict>()) {
    result.kind = MSRUN_DICT;
    result.as.dict = dict(*entries);
  } else if (const auto* unsupported = value.get<Unsupported>()) {
    throw SkipError(unsupported->reason);
  }
  return result;
}

DeviceResult read_result(const msrun_result& result, std::size_t tensors) {
  // Before any of them is read.
  if (result.gradients.count != 0 && result.gradients.count != tensors) {
    throw DeviceError("there are " + std::to_string(result.gradients.count) + " gradients of " +
                      std::to_string(tensors) + " tensors");
  }
  ResultReader reader;
  DeviceResult read;
  read.output = reader.value(result.output, 0);
  read.gradients = reader.list(result.gradients, 0);
  if (result.backward_problem != nullptr) read.backward_problem = readable(bounded(result.backward_problem));
  for (const Value& gradient : read.gradients) {
    if (!gradient.is_none() && !gradient.is<Tensor>()) throw DeviceError("a gradient is no tensor");
  }
  return read;
}

}  // namespace msrun
