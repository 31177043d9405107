#include "runner/judge/altered_calls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/base/text.h"
#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

// What parameters of these names take in the frameworks' documentation. An operator refuses those that are not its own.
struct TextChoices {
  std::string_view parameter;
  std::array<std::string_view, 6> choices;
};
constexpr std::array text_choices{
    TextChoices{"approximate", {"none", "tanh"}},
    TextChoices{"reduction", {"mean", "sum", "none", "batchmean"}},
    TextChoices{"reduce", {"sum", "mean", "prod", "amax", "amin"}},
    TextChoices{"rounding_mode", {"trunc", "floor"}},
    TextChoices{"mode", {"bilinear", "nearest", "bicubic", "reflect", "replicate", "circular"}},
    TextChoices{"padding_mode", {"zeros", "border", "reflection"}},
    TextChoices{"interpolation", {"linear", "lower", "higher", "nearest", "midpoint"}},
    TextChoices{"rotary_mode", {"half", "interleave"}},
};

// Flags that no kernel takes for another by mistake: one changes no values, the other is a filter of its own, which
// gives what many mistakes give where no size shrinks.
constexpr std::array<std::string_view, 2> kept_flags{"inplace", "antialias"};

constexpr std::size_t most_choices = 8;

// Where to look first for a number that the operator chooses by its arguments.
constexpr std::array chosen_numbers{1.0 / 64, 1.0 / 32, 1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2, 1.0};

std::string shown(const Value& value) {
  if (const auto* flag = value.get<bool>()) return *flag ? "True" : "False";
  if (const auto* integer = value.get<std::int64_t>()) return std::to_string(*integer);
  if (const auto* real = value.get<double>()) return short_number(*real);
  if (const auto* text = value.get<std::string>()) return "'" + *text + "'";
  return "None";
}

// The spatial axes, those behind the first two, read backwards.
std::optional<Tensor> reversed(const Tensor& tensor) {
  if (tensor.rank() < 3) return std::nullopt;
  Tensor result = tensor.contiguous();
  Dims strides = row_major_strides(result.shape());
  std::int64_t last = 0;
  for (std::size_t axis = 2; axis < strides.size(); ++axis) {
    last += (result.shape()[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  return last == 0 ? std::nullopt : std::optional(result.with_strides(result.shape(), strides, last).contiguous());
}

std::optional<Tensor> transposed(const Tensor& tensor) {
  if (tensor.rank() < 2 || tensor.size(-1) != tensor.size(-2) || tensor.size(-1) == 1) return std::nullopt;
  return tensor.transpose(-1, -2).contiguous();
}

// The memory of a tensor with these axes, which a reader takes for row-major.
std::optional<Tensor> channels_last(const Tensor& tensor) {
  if (tensor.rank() != 4 || tensor.size(1) == 1 || tensor.size(2) * tensor.size(3) == 1) return std::nullopt;
  static constexpr std::array<std::int64_t, 4> axes{0, 2, 3, 1};
  return tensor.permute(axes).contiguous().reshape(tensor.shape());
}

std::optional<Tensor> channels_first(const Tensor& tensor) {
  if (tensor.rank() != 4 || tensor.size(1) == 1 || tensor.size(2) * tensor.size(3) == 1) return std::nullopt;
  static constexpr std::array<std::int64_t, 4> axes{0, 3, 1, 2};
  const Dims shape{tensor.size(0), tensor.size(2), tensor.size(3), tensor.size(1)};
  return tensor.contiguous().reshape(shape).permute(axes).contiguous();
}

std::optional<Tensor> halves_as(const Tensor& tensor, bool interleaved) {
  if (tensor.rank() == 0 || tensor.size(-1) < 4 || tensor.size(-1) % 2 != 0) return std::nullopt;
  Dims shape = tensor.shape();
  const std::int64_t half = shape.back() / 2;
  shape.back() = interleaved ? 2 : half;
  shape.push_back(interleaved ? half : 2);
  return tensor.contiguous().reshape(shape).transpose(-1, -2).contiguous().reshape(tensor.shape());
}
std::optional<Tensor> interleaved(const Tensor& tensor) { return halves_as(tensor, true); }
std::optional<Tensor> parted(const Tensor& tensor) { return halves_as(tensor, false); }

std::optional<Tensor> halves_exchanged(const Tensor& tensor) {
  if (tensor.rank() == 0 || tensor.size(-1) < 4 || tensor.size(-1) % 2 != 0) return std::nullopt;
  const std::int64_t half = tensor.size(-1) / 2;
  Dims shape = tensor.shape();
  shape.back() = 2;
  shape.push_back(half);
  Dims strides = row_major_strides(shape);
  const std::int64_t first = strides[strides.size() - 2];
  strides[strides.size() - 2] = -first;
  return tensor.contiguous().reshape(shape).with_strides(shape, strides, first).contiguous().reshape(tensor.shape());
}

std::optional<Tensor> first_half(const Tensor& tensor, std::int64_t axis) {
  if (tensor.rank() == 0 || tensor.size(axis) < 4) return std::nullopt;
  return tensor.slice(axis, 0, tensor.size(axis) / 2).contiguous();
}
std::optional<Tensor> half_of_last(const Tensor& tensor) { return first_half(tensor, -1); }
std::optional<Tensor> half_of_first(const Tensor& tensor) { return first_half(tensor, 0); }

struct Layout {
  std::optional<Tensor> (*read)(const Tensor&);
  std::string_view before;  // the name of the argument
  std::string_view behind;
};
constexpr std::array layouts{
    Layout{reversed, "the spatial axes of ", " reversed"},
    Layout{transposed, "the last two axes of ", " exchanged"},
    Layout{channels_last, "", " stored with its channels last, and read as if they were first"},
    Layout{channels_first, "", " read as if its channels were last"},
    Layout{interleaved, "the halves of ", " interleaved along its last axis"},
    Layout{parted, "the even and the odd elements of ", " parted along its last axis"},
    Layout{halves_exchanged, "the halves of ", " exchanged along its last axis"},
    Layout{half_of_last, "the first half of the last axis of ", " alone"},
    Layout{half_of_first, "the first half of the first axis of ", " alone"},
};

class Alterations {
 public:
  Alterations(const MaterialisedCall& call, const BoundOverload& bound, std::size_t most)
      : call_(call), parameters_(bound.overload->signature.parameters()), values_(bound.values), most_(most) {}

  std::vector<AlteredCall> all(bool of_output) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) alter_number(i);
    if (of_output) {
      for (std::size_t i = 0; i < parameters_.size(); ++i) leave_out(i);
      for (std::size_t i = 0; i < parameters_.size(); ++i) exchange(i);
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) read_otherwise(i);
    return std::move(found_);
  }

  std::vector<AlteredCall> choices() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (values_[i].get<bool>() != nullptr || values_[i].get<std::string>() != nullptr) alter_number(i);
    }
    return std::move(found_);
  }

  std::vector<FreeNumber> free_numbers() const {
    std::vector<FreeNumber> numbers;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& parameter = parameters_[i];
      if (parameter.kind != Parameter::Kind::real || parameter.list || parameter.rest) continue;
      FreeNumber number{.name = parameter.name, .recorded = shown(values_[i]), .starts = {}, .with = {}};
      if (const auto* real = values_[i].get<double>()) {
        if (*real != 0) number.starts = {*real};
      } else if (values_[i].is_none()) {
        number.starts.assign(chosen_numbers.begin(), chosen_numbers.end());
      }
      if (number.starts.empty()) continue;
      number.with = [this, i](double value) { return called_with(i, value); };
      numbers.push_back(std::move(number));
    }
    return numbers;
  }

 private:
  // The argument for a parameter in a call; null where it is not given, or among those that are taken as one list.
  Value* given(MaterialisedCall& call, std::size_t at) const {
    const bool behind_rest = std::any_of(parameters_.begin(), parameters_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                         [](const Parameter& parameter) { return parameter.rest; });
    if (!parameters_[at].keyword_only && !behind_rest && at < call.args.size()) return &call.args[at];
    const auto named =
        std::ranges::find(call.kwargs, parameters_[at].name, [](const auto& pair) { return pair.first; });
    return named == call.kwargs.end() ? nullptr : &named->second;
  }

  void add(std::string what, MaterialisedCall call) {
    if (found_.size() < most_) found_.push_back({std::move(what), std::move(call)});
  }

  void put(std::size_t at, Value value) {
    if (found_.size() >= most_) return;
    std::string what = "with " + parameters_[at].name + "=" + shown(value) + " in place of " + shown(values_[at]);
    add(std::move(what), called_with(at, std::move(value)));
  }

  MaterialisedCall called_with(std::size_t at, Value value) const {
    MaterialisedCall call = call_;
    if (Value* argument = given(call, at)) {
      *argument = std::move(value);
    } else {
      call.kwargs.emplace_back(parameters_[at].name, std::move(value));
    }
    return call;
  }

  std::int64_t rank() const {
    const Value* first = values_.empty() ? nullptr : values_.data();
    const Tensor* tensor = first != nullptr ? first->get<Tensor>() : nullptr;
    return tensor != nullptr ? tensor->rank() : 0;
  }

  void alter_number(std::size_t at) {
    const Parameter& parameter = parameters_[at];
    const Value& value = values_[at];
    if (parameter.list || parameter.rest || std::ranges::count(kept_flags, parameter.name) > 0) return;
    if (const auto* flag = value.get<bool>()) {
      put(at, !*flag);
    } else if (const auto* text = value.get<std::string>()) {
      put_text(at, *text);
    } else if (const auto* integer = value.get<std::int64_t>()) {
      put_integer(at, *integer);
    } else if (const auto* real = value.get<double>()) {
      put_real(at, *real);
    } else if (value.is_none() && parameter.kind == Parameter::Kind::real) {
      put(at, 1.0);
    }
  }

  void put_text(std::size_t at, const std::string& text) {
    const auto known = std::ranges::find(text_choices, parameters_[at].name, &TextChoices::parameter);
    if (known == text_choices.end()) return;
    for (const std::string_view choice : known->choices) {
      if (!choice.empty() && choice != text) put(at, std::string(choice));
    }
  }

  void put_integer(std::size_t at, std::int64_t number) {
    const Parameter& parameter = parameters_[at];
    if (parameter.name == "dim") {
      const std::int64_t axes = rank();
      for (std::int64_t axis = 0; axis < axes; ++axis) {
        if (axis != number && axis != number + axes) put(at, axis);
      }
      return;
    }
    put(at, number - 1);
    put(at, number + 1);
    if (parameter.kind == Parameter::Kind::real || parameter.kind == Parameter::Kind::operand) put(at, -number);
  }

  void put_real(std::size_t at, double number) {
    const Parameter& parameter = parameters_[at];
    std::vector<double> tried{number};
    const auto try_other = [&](double other) {
      if (std::ranges::find(tried, other) != tried.end()) return;
      tried.push_back(other);
      put(at, other);
    };
    try_other(0);
    if (const auto* usual = parameter.default_value.get<double>()) try_other(*usual);
    try_other(1);
    try_other(-number);
    if (parameter.nullable) put(at, None{});
  }

  const Tensor* tensor_at(std::size_t at) const { return values_[at].get<Tensor>(); }

  void leave_out(std::size_t at) {
    MaterialisedCall call = call_;
    Value* argument = parameters_[at].nullable && tensor_at(at) != nullptr ? given(call, at) : nullptr;
    if (argument == nullptr) return;
    *argument = None{};
    add("without " + parameters_[at].name, std::move(call));
  }

  void exchange(std::size_t at) {
    const Tensor* first = tensor_at(at);
    for (std::size_t other = at + 1; first != nullptr && other < parameters_.size(); ++other) {
      const Tensor* second = tensor_at(other);
      if (second == nullptr || second->shape() != first->shape()) continue;
      MaterialisedCall call = call_;
      Value* a = given(call, at);
      Value* b = given(call, other);
      if (a == nullptr || b == nullptr) continue;
      std::swap(*a, *b);
      add("with " + parameters_[at].name + " and " + parameters_[other].name + " exchanged", std::move(call));
    }
  }

  void read_otherwise(std::size_t at) {
    const Tensor* tensor = tensor_at(at);
    if (tensor == nullptr || tensor->numel() < 2) return;
    for (const Layout& layout : layouts) {
      const std::optional<Tensor> read = found_.size() < most_ ? layout.read(*tensor) : std::nullopt;
      MaterialisedCall call = call_;
      Value* argument = read ? given(call, at) : nullptr;
      if (argument == nullptr) continue;
      *argument = *read;
      add("with " + std::string(layout.before) + parameters_[at].name + std::string(layout.behind), std::move(call));
    }
  }

  const MaterialisedCall& call_;
  const std::vector<Parameter>& parameters_;
  const std::vector<Value>& values_;
  std::size_t most_;
  std::vector<AlteredCall> found_;
};

}  // namespace

std::vector<AlteredCall> altered_calls(const Operator& op, const MaterialisedCall& call, bool of_output,
                                       std::size_t most) {
  std::string problem;
  const std::optional<BoundOverload> bound = op.bind(call.args, call.kwargs, problem);
  if (!bound) return {};
  return Alterations(call, *bound, most).all(of_output);
}

std::vector<AlteredCall> otherwise_chosen_calls(const Operator& op, const MaterialisedCall& call) {
  std::string problem;
  const std::optional<BoundOverload> bound = op.bind(call.args, call.kwargs, problem);
  if (!bound) return {};
  return Alterations(call, *bound, most_choices).choices();
}

void for_each_free_number(const Operator& op, const MaterialisedCall& call,
                          const std::function<void(const FreeNumber&)>& visit) {
  std::string problem;
  const std::optional<BoundOverload> bound = op.bind(call.args, call.kwargs, problem);
  if (!bound) return;
  const Alterations alterations(call, *bound, 0);
  for (const FreeNumber& number : alterations.free_numbers()) visit(number);
}

}  // namespace msrun
