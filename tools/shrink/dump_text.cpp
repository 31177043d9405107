// A recording as the text of a dump.json, as PyTorch's recorder writes one.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/compare/details.h"
#include "kernels/io/dump/tensor_folder.h"
#include "tools/shrink/recording.h"

namespace msrun::shrink {
namespace {

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// As Python writes a float: with a point, and the bare words of numbers that JSON does not have.
std::string number_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  std::string text;
  append_python_number(text, number);
  return text;
}

template <class T>
std::string typed(const char* type, const T& value) {
  return std::string(R"({"type": ")") + type + R"(", "value": )" + value + "}";
}

// What the recorder says of the values of a tensor; nothing of complex ones.
std::string statistics(const Tensor& tensor) {
  if (is_complex(tensor.dtype()) || tensor.numel() == 0) return {};
  const Tensor wide = tensor.to(DType::float64).contiguous();
  const double* values = wide.data<double>();
  double most = values[0];
  double least = values[0];
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    // NaN is both extrema, as it is torch's.
    if (std::isnan(values[i]) || values[i] > most) most = values[i];
    if (std::isnan(values[i]) || values[i] < least) least = values[i];
    sum += values[i];
    squares += values[i] * values[i];
  }
  return R"(, "Max": )" + number_text(most) + R"(, "Min": )" + number_text(least) + R"(, "Mean": )" +
         number_text(sum / static_cast<double>(wide.numel())) + R"(, "Norm": )" + number_text(std::sqrt(squares));
}

class Writer {
 public:
  explicit Writer(const Recording& recording) : recording_(recording) {}

  std::string text(const Value& value) const {
    return std::visit([this](const auto& alternative) { return this->written(alternative); }, value.variant());
  }
  std::string text(const List& list) const {
    std::string items;
    for (const Value& item : list) items += (items.empty() ? "" : ", ") + text(item);
    return "[" + items + "]";
  }
  std::string text(const Dict& dict) const {
    std::string items;
    for (const auto& [key, item] : dict) items += (items.empty() ? "" : ", ") + json_text(key) + ": " + text(item);
    return "{" + items + "}";
  }

 private:
  static std::string written(const None& /*value*/) { return typed("NoneType", "null"); }
  static std::string written(bool value) { return typed("bool", value ? "true" : "false"); }
  static std::string written(std::int64_t value) { return typed("int", std::to_string(value)); }
  static std::string written(double value) { return typed("float", number_text(value)); }
  static std::string written(const std::string& value) { return typed("str", json_text(value)); }
  static std::string written(DType value) { return typed("torch.dtype", json_text(torch_name(value))); }
  static std::string written(const Slice& value) {
    std::string bounds;
    for (const auto* bound : {&value.start, &value.stop, &value.step})
      bounds += (bounds.empty() ? "" : ", ") + (*bound ? std::to_string(**bound) : "null");
    return typed("slice", "[" + bounds + "]");
  }
  static std::string written(const Ellipsis& /*value*/) { return typed("ellipsis", R"("...")"); }
  static std::string written(const DeviceName& value) {
    return typed("torch.device", value.text.empty() ? "null" : json_text(value.text));
  }
  static std::string written(const Unsupported& /*value*/) { return typed("NoneType", "null"); }
  std::string written(const std::shared_ptr<const TensorSpec>& spec) const {
    std::string shape;
    for (const std::int64_t size : spec->shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    std::string text =
        R"({"type": "torch.Tensor", "dtype": )" + json_text(spec->dtype) + R"(, "shape": [)" + shape + "]";
    const auto data = recording_.data.find(spec->data_name);
    if (data != recording_.data.end()) text += statistics(data->second);
    text += std::string(R"(, "requires_grad": )") + (spec->requires_grad ? "true" : "false");
    if (!spec->data_name.empty()) text += R"(, "data_name": )" + json_text(spec->data_name);
    return text + "}";
  }
  // Recordings hold descriptions of tensors.
  static std::string written(const Tensor& /*value*/) { throw std::logic_error("a tensor without a file"); }
  static std::string written(const Var& /*value*/) { throw std::logic_error("a tensor on a tape"); }
  std::string written(const List& value) const { return text(value); }
  std::string written(const Dict& value) const { return text(value); }

  const Recording& recording_;
};

// The member of the header that says what made the recording; with its comma, or empty.
std::string origin_text(const RecordingOrigin& origin) {
  if (origin.device.empty()) return {};
  std::string settings;
  for (const auto& [name, value] : origin.settings) {
    settings += (settings.empty() ? "" : ", ") + json_text(name) + ": " + json_text(value);
  }
  return " \"msrun\": {\"device\": " + json_text(origin.device) + ", \"settings\": {" + settings + "}},\n";
}

}  // namespace

std::string dump_text(const Recording& recording) {
  const ApiCall& call = recording.call;
  const Writer writer(recording);
  std::string text =
      "{\n \"task\": \"tensor\",\n \"level\": \"L1\",\n \"framework\": \"pytorch\",\n"
      " \"dump_data_dir\": \"./" +
      std::string(tensor_folder_name) + "\",\n" + origin_text(recording.origin) + " \"data\": {\n";
  text += "  " + json_text(call.name + ".forward") + ": {\n   \"input_args\": " + writer.text(call.args) +
          ",\n   \"input_kwargs\": " + writer.text(call.kwargs) +
          ",\n   \"output\": " + writer.text(call.recorded ? call.recorded->outputs : recording.described_outputs) +
          "\n  }";
  if (call.has_backward) {
    text += ",\n  " + json_text(call.name + ".backward") + ": {\n   \"input\": " + writer.text(call.grad_inputs) +
            ",\n   \"output\": " + writer.text(call.recorded ? call.recorded->gradients : List{}) + "\n  }";
  }
  return text + "\n }\n}\n";
}

}  // namespace msrun::shrink
