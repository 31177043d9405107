#include "tools/op_generate/script.h"

#include <cmath>
#include <stdexcept>

#include "tools/op_generate/drawn_inputs.h"
#include "tools/op_generate/metric_limits.h"
#include "tools/op_generate/python_text.h"
#include "tools/op_generate/templates.h"

namespace msrun::op_generate {

namespace {

std::string optional_number(const std::optional<double>& value) { return value ? python_number(*value) : "None"; }

std::string truth(bool value) { return value ? "True" : "False"; }

std::string described(const std::string& type, const std::string& value) {
  return "{\"type\": " + string_literal(type) + ", \"value\": " + value + "}";
}

// "[first, step, count, value]" for each run, of every iteration one list.
std::string fitted_text(const FittedTensor& fitted) {
  std::string text;
  for (const std::vector<FittedRun>& runs : fitted.iterations) {
    text += text.empty() ? "[" : ", [";
    for (const FittedRun& run : runs) {
      text += (&run == runs.data() ? "[" : ", [") + std::to_string(run.first) + ", " + std::to_string(run.step) + ", " +
              std::to_string(run.count) + ", " + run.value + "]";
    }
    text += "]";
  }
  return "[" + text + "]";
}

std::string masked_text(const MaskedDraw& masked) {
  return "[" + python_number(masked.range.low) + ", " + python_number(masked.range.high) + ", " +
         python_number(masked.range.mask) + ", " + python_number(masked.limit) + "]";
}

std::string tensor_text(const TensorSpec& spec, const std::string& name, bool real_data, const FittedTensor* fitted) {
  std::string shape;
  for (const std::int64_t size : spec.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  std::string text = "{\"type\": \"torch.Tensor\", \"parameter_name\": " + string_literal(name) +
                     ", \"dtype\": " + string_literal(spec.dtype) + ", \"shape\": [" + shape +
                     "], \"Max\": " + optional_number(spec.max) + ", \"Min\": " + optional_number(spec.min) +
                     ", \"requires_grad\": " + truth(spec.requires_grad);
  if (real_data && !spec.data_path.empty()) return text + ", \"data_name\": " + path_literal(spec.data_path) + "}";
  if (const auto masked = masked_draw(spec)) text += ", \"masked\": " + masked_text(*masked);
  if (fitted != nullptr) text += ", \"fitted\": " + fitted_text(*fitted);
  return text + "}";
}

class Literals {
 public:
  // fitted: tensors by their names, of which random elements are changed.
  Literals(bool real_data, const std::map<std::string, FittedTensor>& fitted)
      : real_data_(real_data), fitted_(fitted) {}

  std::string value(const Value& value, const std::string& name) const {
    if (const List* list = value.get<List>()) {
      std::string text;
      for (std::size_t i = 0; i < list->size(); ++i) {
        text += (i == 0 ? "" : ", ") + this->value((*list)[i], indexed_name(name, i));
      }
      return "[" + text + "]";
    }
    if (const Dict* dict = value.get<Dict>()) {
      std::string text;
      for (const auto& [key, entry] : *dict) {
        text += (text.empty() ? "" : ", ") + string_literal(key) + ": " + this->value(entry, name + "_" + key);
      }
      return described("dict", "{" + text + "}");
    }
    const TensorSpec* spec = recorded_tensor(value);
    if (spec == nullptr) return leaf(value);
    const auto fitted = fitted_.find(name);
    return tensor_text(*spec, name, real_data_, fitted == fitted_.end() ? nullptr : &fitted->second);
  }

 private:
  static std::string leaf(const Value& value) {
    if (value.is_none()) return "None";
    if (const bool* flag = value.get<bool>()) return truth(*flag);
    if (const auto* integer = value.get<std::int64_t>()) return std::to_string(*integer);
    if (const double* real = value.get<double>()) return python_number(*real);
    if (const auto* text = value.get<std::string>()) return string_literal(*text);
    if (const DType* dtype = value.get<DType>()) return described("torch.dtype", string_literal(torch_name(*dtype)));
    if (value.is<Ellipsis>()) return described("ellipsis", "None");
    if (value.is<DeviceName>()) return described("torch.device", string_literal(value.get<DeviceName>()->text));
    if (const Slice* slice = value.get<Slice>()) {
      const auto end = [](const std::optional<std::int64_t>& place) {
        return place ? std::to_string(*place) : std::string("None");
      };
      return described("slice", "[" + end(slice->start) + ", " + end(slice->stop) + ", " + end(slice->step) + "]");
    }
    throw std::logic_error("a value that no script can rebuild");
  }

  bool real_data_;
  const std::map<std::string, FittedTensor>& fitted_;
};

std::string namespace_of(const RecordedCase& recorded) {
  if (recorded.type == "Functional") return "nn.functional";
  return recorded.type == "Tensor" ? "Tensor" : "";
}

std::string api_text(const RecordedCase& recorded) {
  const std::string root = recorded.framework == Framework::mindspore ? "mindspore" : "torch";
  const std::string place = recorded.type == "Mint" ? "mint" : namespace_of(recorded);
  return root + "." + (place.empty() ? "" : place + ".") + recorded.api;
}

std::string lines(const std::vector<std::string>& entries, char open, char close) {
  if (entries.empty()) return std::string{open, close};
  std::string text(1, open);
  for (const std::string& entry : entries) text += "\n        " + entry + ",";
  return text + "\n    " + close;
}

std::string positional(const List& values, const Literals& literals) {
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < values.size(); ++i) entries.push_back(literals.value(values[i], indexed_name("arg", i)));
  return lines(entries, '[', ']');
}

std::string keywords(const Dict& values, const Literals& literals) {
  std::vector<std::string> entries;
  for (const auto& [key, value] : values)
    entries.push_back(string_literal(key) + ": " + literals.value(value, "kwarg_" + key));
  return lines(entries, '{', '}');
}

const char* framework_text(Framework framework) {
  switch (framework) {
    case Framework::pytorch:
      return "pytorch";
    case Framework::mindspore:
      return "mindspore";
    case Framework::mindtorch:
      break;
  }
  return "mindtorch";
}

std::string case_text(const RecordedCase& recorded, const std::string& native) {
  const bool real_data = recorded.data_mode == DataMode::real_data;
  const std::map<std::string, FittedTensor> none;
  const Literals literals(real_data, recorded.fitted);
  const auto dtype = [](const std::optional<DType>& type) {
    return type ? string_literal(name(*type)) : std::string("None");
  };
  std::string text = "CASE = {\n";
  const auto entry = [&](const std::string& key, const std::string& value) {
    text += "    " + string_literal(key) + ": " + value + ",\n";
  };
  entry("name", string_literal(recorded.name));
  entry("framework", string_literal(framework_text(recorded.framework)));
  entry("type", string_literal(recorded.type));
  entry("api", string_literal(api_text(recorded)));
  entry("namespace", string_literal(namespace_of(recorded)));
  entry("api_name", string_literal(recorded.api));
  entry("propagation", string_literal(direction_text(recorded.propagation)));
  entry("data_mode", string_literal(data_mode_text(recorded.data_mode)));
  entry("random_seed", std::to_string(recorded.seed));
  entry("iter_times", std::to_string(recorded.iterations));
  entry("standard", string_literal(standard_title(recorded.standard)));
  entry("raises", truth(recorded.raises));
  entry("raised_to", dtype(recorded.precision.raised_to));
  entry("autocast", dtype(recorded.precision.autocast));
  entry("casts_to", dtype(recorded.precision.casts_to));
  entry("not_compared", string_literal(recorded.not_compared));
  entry("args", positional(recorded.args, literals));
  entry("kwargs", keywords(recorded.kwargs, literals));
  entry("gradients", positional(recorded.gradients, Literals(real_data, none)));
  entry("native", string_literal(native));
  return text + "}\n";
}

std::string limits_text() {
  std::string text = "LIMITS = {\n";
  for (const MetricLimits& limits : metric_limits) {
    const std::string dtype = limits.dtype ? std::string(torch_name(*limits.dtype)) : "torch.float32";
    const ComparisonLimits& verdicts = comparison_limits(dtype);
    text += "    " + string_literal(limits.dtype ? name(*limits.dtype) : "default") +
            ": {\"rtol\": " + python_number(limits.rtol) + ", \"small\": " + python_number(limits.small) +
            ", \"small_atol\": " + python_number(limits.small_atol) +
            ", \"min_exponent\": " + std::to_string(limits.min_exponent) +
            ", \"mantissa_bits\": " + std::to_string(limits.mantissa_bits) +
            ",\n        \"ulp_limit\": " + python_number(limits.ulp_limit) +
            ", \"ulp_mean\": " + python_number(verdicts.ulp_mean) +
            ", \"ulp_proportion\": " + python_number(verdicts.ulp_proportion) + "},\n";
  }
  const auto entry = [&](const std::string& key, double value) {
    text += "    " + string_literal(key) + ": " + python_number(value) + ",\n";
  };
  entry("thousandth", dual_1000_limit);
  entry("pass", ratio_passes);
  entry("warning", ratio_warns);
  entry("warning_maximum", ratio_of_maximum_warns);
  return text + "}\n";
}

void replace_line(std::string& script, const std::string& line, const std::string& text) {
  const std::size_t at = script.find("\n" + line + "\n");
  if (at == std::string::npos) throw std::logic_error("a template without the line " + line);
  script.replace(at + 1, line.size() + 1, text);
}

// A module without its description and its imports.
std::string definitions(std::string_view module) {
  constexpr std::string_view quotes = "\"\"\"\n";
  constexpr std::string_view import_line = "import torch\n";
  const std::size_t end = module.find(quotes);
  if (end == std::string_view::npos) throw std::logic_error("a module without a description");
  module.remove_prefix(end + quotes.size());
  if (const std::size_t at = module.find(import_line); at != std::string_view::npos) {
    module.remove_prefix(at + import_line.size());
  }
  module.remove_prefix(module.find_first_not_of('\n'));
  return std::string(module);
}

// The definitions of a module in place of the statement that imports them.
void replace_import(std::string& script, const std::string& name, std::string_view module) {
  const std::string statement = "\nfrom " + name + " import ";
  const std::size_t at = script.find(statement);
  if (at == std::string::npos) throw std::logic_error("a template that imports nothing of " + name);
  const bool has_lines = script[at + statement.size()] == '(';
  const std::size_t end = has_lines ? script.find(')', at) + 1 : script.find('\n', at + 1);
  script.replace(at + 1, end - at, definitions(module) + "\n\n");
}

}  // namespace

std::string indexed_name(const std::string& name, std::size_t index) { return name + "_" + std::to_string(index); }

std::string script_text(const RecordedCase& recorded, const std::string& native) {
  const bool pytorch = recorded.framework == Framework::pytorch;
  std::string script(pytorch ? torch_script : mindspore_script);
  replace_line(script, "CASE = {}", case_text(recorded, native));
  if (!pytorch) return script;
  for (const auto& [name, module] :
       {std::pair("msrun_torch_worker.forms", forms), std::pair("msrun_torch_worker.removed", removed),
        std::pair("torch_inputs", torch_inputs), std::pair("torch_standards", torch_standards)}) {
    replace_import(script, name, module);
  }
  replace_line(script, "LIMITS = {}", limits_text());
  return script;
}

}  // namespace msrun::op_generate
