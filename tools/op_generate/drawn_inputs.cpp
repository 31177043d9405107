#include "tools/op_generate/drawn_inputs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "kernels/api/drawn_call.h"
#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/io/numpy/npy.h"
#include "kernels/io/torch/pt_file.h"
#include "kernels/tensor/complex.h"
#include "tools/op_generate/python_text.h"
#include "tools/op_generate/script.h"

namespace msrun::op_generate {

namespace {

double least_of(DType dtype) {
  if (is_floating(dtype)) return -max_finite(dtype);
  return visit_dtype(dtype, [](auto zero) -> double {
    if constexpr (std::is_integral_v<decltype(zero)>) {
      return static_cast<double>(std::numeric_limits<decltype(zero)>::min());
    } else {
      return 0;
    }
  });
}

double most_of(DType dtype) {
  if (is_floating(dtype)) return max_finite(dtype);
  return visit_dtype(dtype, [](auto zero) -> double {
    if constexpr (std::is_integral_v<decltype(zero)>) {
      return static_cast<double>(std::numeric_limits<decltype(zero)>::max());
    } else {
      return 0;
    }
  });
}

// As the script's masked_float.
Tensor masked_from_stream(DType dtype, const TensorSpec& spec, const MaskedDraw& masked, RandomWords& words) {
  const MaskedRange& range = masked.range;
  const ValueRange ordinary{.min = range.low, .max = range.high, .min_finite = {}, .max_finite = {}};
  const Tensor drawn = random_tensor(dtype, spec.shape, ordinary, words, RangeRule::torch).to(DType::float64);
  std::vector<double> values(drawn.data<double>(), drawn.data<double>() + drawn.numel());
  const auto row = spec.shape.back();
  for (auto at = values.begin(); at != values.end(); at += row) {
    const auto spared = row > 1 ? std::max_element(at, at + row) : at + row;
    for (auto element = at; element != at + row; ++element) {
      if (element != spared && *element < masked.limit) *element = range.mask;
    }
  }
  values.front() = range.first;
  values.back() = range.last;
  return Tensor::from<double>(DType::float64, spec.shape, values).to(dtype);
}

// The recorded arguments as those of which there are no data.
Value without_files(const Value& value) {
  return transform_leaves(value, [](const Value& leaf) -> Value {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr || spec->file().empty()) return leaf;
    auto changed = std::make_shared<TensorSpec>(*spec);
    changed->data_path.clear();
    changed->data_name.clear();
    return std::shared_ptr<const TensorSpec>(std::move(changed));
  });
}

}  // namespace

std::optional<MaskedDraw> masked_draw(const TensorSpec& spec) {
  const std::optional<DType> dtype = parse_dtype(spec.dtype);
  if (!dtype) return std::nullopt;
  const auto range = masked_range(
      *dtype, spec.shape,
      {.min = spec.min, .max = spec.max, .min_finite = spec.min_finite, .max_finite = spec.max_finite}, spec.mean);
  if (!range) return std::nullopt;
  return MaskedDraw{*range, range->low + range->share * (range->high - range->low)};
}

DrawnInputs::DrawnInputs(const RecordedCase& recorded, SeedMode mode, std::function<void(const std::string&)> report)
    : recorded_(recorded),
      mode_(mode),
      report_(std::move(report)),
      stream_(static_cast<std::uint32_t>(recorded.seed)) {}

BuiltCall DrawnInputs::next() {
  BuiltCall drawn;
  MaterialisedCall& call = drawn.call;
  call.name = recorded_.name;
  call.parts = {recorded_.type, recorded_.api, recorded_.name.substr(recorded_.name.rfind('.') + 1)};
  call.autocast = false;
  for (std::size_t i = 0; i < recorded_.args.size(); ++i) {
    call.args.push_back(value(recorded_.args[i], indexed_name("arg", i), call.requires_grad, drawn));
  }
  for (const auto& [key, recorded_value] : recorded_.kwargs) {
    call.kwargs.emplace_back(key, value(recorded_value, "kwarg_" + key, call.requires_grad, drawn));
  }
  std::vector<bool> ignored;
  for (std::size_t i = 0; i < recorded_.gradients.size(); ++i) {
    call.gradients.push_back(value(recorded_.gradients[i], indexed_name("arg", i), ignored, drawn));
  }
  call.backward.run = recorded_.propagation == Direction::backward;
  if (recorded_.data_mode == DataMode::random_data) fit(drawn);
  ++iteration_;
  return drawn;
}

void DrawnInputs::fit(BuiltCall& drawn) const {
  const Operator* op = operator_of(recorded_.type, recorded_.api);
  if (op == nullptr || op->traits().fit == nullptr || recorded_.framework != Framework::pytorch) return;
  List args;
  Dict kwargs;
  for (const Value& value : recorded_.args) args.push_back(without_files(value));
  for (const auto& [key, value] : recorded_.kwargs) kwargs.emplace_back(key, without_files(value));
  DrawnCall call{args, kwargs, drawn.call.args, drawn.call.kwargs, drawn.call.gradients};
  op->traits().fit(call);
}

Value DrawnInputs::value(const Value& recorded, const std::string& name, std::vector<bool>& requires_grad,
                         BuiltCall& drawn) {
  if (const List* list = recorded.get<List>()) {
    List result;
    for (std::size_t i = 0; i < list->size(); ++i) {
      result.push_back(value((*list)[i], indexed_name(name, i), requires_grad, drawn));
    }
    return result;
  }
  if (const Dict* dict = recorded.get<Dict>()) {
    Dict result;
    for (const auto& [key, entry] : *dict)
      result.emplace_back(key, value(entry, name + "_" + key, requires_grad, drawn));
    return result;
  }
  const TensorSpec* spec = recorded_tensor(recorded);
  if (spec == nullptr) return recorded;
  const Tensor tensor = build(*spec, name);
  requires_grad.push_back(spec->requires_grad && is_floating_or_complex(tensor.dtype()));
  drawn.names.push_back(name);
  drawn.unfitted.push_back(tensor);
  return tensor;
}

Tensor DrawnInputs::build(const TensorSpec& spec, const std::string& name) {
  const std::optional<DType> dtype = parse_dtype(spec.dtype);
  if (recorded_.data_mode == DataMode::real_data && !spec.data_path.empty()) return load(spec, dtype);
  if (!dtype || is_complex(*dtype) || is_float8(*dtype)) throw UserError(spec.dtype + " is not supported!");
  if (element_count(spec.shape) == 0) return Tensor::zeros(*dtype, spec.shape);
  if (!spec.max || !spec.min) {
    report_(name + ": no range was recorded; all its values are 0.");
    return Tensor::zeros(*dtype, spec.shape);
  }
  return random(spec, *dtype, name);
}

Tensor DrawnInputs::random(const TensorSpec& spec, DType dtype, const std::string& name) {
  Philox own(random_key(static_cast<std::uint64_t>(recorded_.seed + iteration_), recorded_.name, name));
  const bool streams = mode_ == SeedMode::stream;
  if (const auto masked = masked_draw(spec)) {
    return streams ? masked_from_stream(dtype, spec, *masked, stream_)
                   : masked_tensor(dtype, spec.shape, masked->range, own);
  }
  ValueRange range{spec.min, spec.max, {}, {}};
  if (dtype == DType::boolean) {
    range.min = finite(*spec.min, 0, name + " Min");
    range.max = finite(*spec.max, 1, name + " Max");
  } else {
    const auto [low, high] = numbers(*spec.min, *spec.max, dtype, name);
    range.min = bound(low, dtype, least_of(dtype), name + " Min");
    range.max = bound(high, dtype, most_of(dtype), name + " Max");
  }
  if (is_integer(dtype) && *range.min > *range.max) {
    report_(name + ": Min is greater than Max; they were exchanged.");
    std::swap(range.min, range.max);
  }
  if (!streams) return random_tensor(dtype, spec.shape, range, own, RangeRule::finite);
  // Where torch's own steps would give infinity, scripts interpolate as RangeRule::finite does.
  const bool overflows = is_floating(dtype) && !(std::abs(*range.max - *range.min) <= max_finite(dtype));
  return random_tensor(dtype, spec.shape, range, stream_, overflows ? RangeRule::finite : RangeRule::torch);
}

// What a tensor held that overflowed says nothing of what the call was made for, and numbers at the end of the range
// would overflow on the side that is less precise alone.
std::pair<double, double> DrawnInputs::numbers(double low, double high, DType dtype, const std::string& name) const {
  if (!is_floating(dtype) || (std::isfinite(low) && std::isfinite(high))) return {low, high};
  double reach = 1;
  for (const double bound : {low, high}) {
    if (std::isfinite(bound)) reach = std::min(2 * std::max(reach, std::abs(bound)), most_of(dtype));
  }
  low = finite(low, -reach, name + " Min");
  return {low, finite(high, reach, name + " Max")};
}

double DrawnInputs::finite(double bound, double instead, const std::string& name) const {
  if (std::isfinite(bound)) return bound;
  report_(name + ": " + python_float(bound) + " says nothing of the range; " + python_float(instead) +
          " is taken in its place.");
  return instead;
}

double DrawnInputs::bound(double value, DType dtype, double limit, const std::string& name) const {
  if (std::isfinite(value) && value >= least_of(dtype) && value <= most_of(dtype)) return value;
  report_(name + ": " + python_float(value) + " lies outside of the range of the dtype; " + python_float(limit) +
          " is taken in its place.");
  return limit;
}

Tensor DrawnInputs::load(const TensorSpec& spec, std::optional<DType> dtype) const {
  const std::string& path = spec.data_path;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw UserError("ERROR: The file path " + path + " does not exist.");
  if (!path.ends_with(".npy")) return read_pt(path);
  const Tensor tensor = read_npy(path);
  return dtype ? tensor.to(*dtype) : tensor;
}

}  // namespace msrun::op_generate
