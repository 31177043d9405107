#include "kernels/ops/common/fitting_numbers.h"

#include <cstring>
#include <optional>

#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

constexpr std::int64_t step = 4;

const std::byte* place_of(const Tensor& tensor, std::int64_t index) {
  return tensor.raw() + index * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

double element(const Tensor& tensor, std::int64_t index) {
  double value = 0;
  load_run<double>(tensor.dtype(), place_of(tensor, index), 1, 1, &value);
  return value;
}

bool lies_between_extrema(const TensorSpec& spec, double number) {
  return spec.min && spec.max && *spec.min <= number && number <= *spec.max;
}

bool has_number(DType dtype, double number) { return element(Tensor::scalar(dtype, number), 0) == number; }

bool is_of_numbers(const Tensor& tensor) {
  return is_integer(tensor.dtype()) || (is_floating(tensor.dtype()) && !is_float8(tensor.dtype()));
}

std::optional<double> number_at(DrawnCall& call, std::size_t place, std::string_view name) {
  const Value* value = call.made(place, name);
  if (value == nullptr) return std::nullopt;
  if (const auto* real = value->get<double>()) return *real;
  const auto* integer = value->get<std::int64_t>();
  return integer == nullptr ? std::nullopt : std::optional(static_cast<double>(*integer));
}

// A random argument of which every fourth element from `first` on, and before `end`, is that of `values`, row-major and
// of its dtype, where that lies between the extrema. A single value stands for all.
void set_every_fourth(DrawnCall& call, std::size_t place, std::string_view name, std::int64_t first, std::int64_t end,
                      const Tensor& values) {
  const TensorSpec& spec = *recorded_tensor(*call.recorded(place, name));
  Tensor changed = call.drawn(place, name)->clone();
  auto* bytes = changed.mutable_data<std::byte>();
  const auto width = static_cast<std::int64_t>(size_of(changed.dtype()));
  for (std::int64_t i = first; i < end; i += step) {
    const std::int64_t from = values.numel() == 1 ? 0 : i;
    if (lies_between_extrema(spec, element(values, from)))
      std::memcpy(bytes + i * width, place_of(values, from), static_cast<std::size_t>(width));
  }
  *call.made(place, name) = changed;
}

}  // namespace

void draw_number(DrawnCall& call, std::size_t place, std::string_view name, double number) {
  const Tensor* drawn = call.drawn(place, name);
  if (drawn == nullptr || drawn->numel() < 2 || !is_of_numbers(*drawn) || !has_number(drawn->dtype(), number)) return;
  set_every_fourth(call, place, name, 0, drawn->numel(), Tensor::scalar(drawn->dtype(), number));
}

void fit_equal_elements(DrawnCall& call) {
  const Tensor* input = call.drawn(0, "input");
  if (input != nullptr && is_of_numbers(*input)) {
    const std::optional<double> number = number_at(call, 1, "other");
    if (number && has_number(input->dtype(), *number)) {
      set_every_fourth(call, 0, "input", 1, input->numel() - 1, Tensor::scalar(input->dtype(), *number));
      return;
    }
  }
  const Tensor* all = call.tensor(0, "input");
  const Tensor* other = call.drawn(1, "other");
  if (all == nullptr || other == nullptr || all->shape() != other->shape() || all->dtype() != other->dtype() ||
      !is_of_numbers(*all))
    return;
  set_every_fourth(call, 1, "other", 1, other->numel() - 1, all->contiguous());
}

}  // namespace msrun
