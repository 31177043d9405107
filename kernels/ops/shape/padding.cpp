// Padding of the last axes by a constant, reflection, repetition of the edge, or wrapping around; negative sizes crop
// (api_inventory.md 3, shape/view). Every axis has a table of the input element that each output element comes from.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

enum class Mode : std::uint8_t { constant, reflect, replicate, circular };

Mode mode_of(const std::string& text) {
  if (text == "constant") return Mode::constant;
  if (text == "reflect") return Mode::reflect;
  if (text == "replicate") return Mode::replicate;
  if (text == "circular") return Mode::circular;
  throw SkipError("Unrecognised padding mode " + text + ".");
}

constexpr std::int64_t outside = -1;

struct Padding {
  Dims input_shape;
  Dims shape;
  std::vector<std::vector<std::int64_t>> sources;  // per axis, per output element; `outside` for the constant
};

// [first, last): what cropping leaves of the input; only that is wrapped around.
std::int64_t source_of(Mode mode, std::int64_t position, std::int64_t size, std::int64_t first, std::int64_t last) {
  if (position >= first && position < last) return position;
  switch (mode) {
    case Mode::constant:
      break;
    case Mode::reflect:
      return position < 0 ? -position : 2 * (size - 1) - position;
    case Mode::replicate:
      return position < 0 ? 0 : size - 1;
    case Mode::circular:
      return position < first ? position + (last - first) : position - (last - first);
  }
  return outside;
}

// pad: before and after of the last axis, then of the one before it...
Padding make_padding(const Dims& input_shape, const Dims& pad, Mode mode) {
  const std::size_t rank = input_shape.size();
  if (pad.size() % 2 != 0 || pad.size() / 2 > rank) {
    throw SkipError("Padding must have two sizes for each of at most " + std::to_string(rank) + " dimensions.");
  }
  constexpr std::int64_t limit = std::int64_t{1} << 40;
  Padding padding;
  padding.input_shape = input_shape;
  padding.shape = input_shape;
  Dims before(rank);
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const std::size_t axis = rank - 1 - i;
    const std::int64_t size = input_shape[axis];
    const std::int64_t left = pad[2 * i];
    const std::int64_t right = pad[2 * i + 1];
    if (std::min(left, right) < -limit || std::max(left, right) > limit)
      throw SkipError("Padding: a size is out of range.");
    const bool fits = mode == Mode::constant || (mode == Mode::reflect && left < size && right < size) ||
                      (mode == Mode::replicate && size > 0) ||
                      (mode == Mode::circular && left <= size && right <= size);
    if (!fits) {
      throw SkipError("Padding size should be less than the corresponding input dimension, but got: padding (" +
                      std::to_string(left) + ", " + std::to_string(right) + ") at dimension " + std::to_string(axis) +
                      " of input " + tuple_text(input_shape) + ".");
    }
    if (mode == Mode::circular && std::max(left, right) > size + std::min<std::int64_t>(std::min(left, right), 0)) {
      throw SkipError("Padding would wrap around more than once at dimension " + std::to_string(axis) + " of input " +
                      tuple_text(input_shape) + ".");
    }
    // A crop on one side must leave something that the other side can mirror or repeat.
    const std::int64_t result = size + left + right;
    if (result < 0 || (mode != Mode::constant && (size + left < 1 || size + right < 1))) {
      throw SkipError("Padding (" + std::to_string(left) + ", " + std::to_string(right) +
                      ") gives a negative size at dimension " + std::to_string(axis) + " of input " +
                      tuple_text(input_shape) + ".");
    }
    before[axis] = left;
    padding.shape[axis] = result;
  }
  if (element_count(padding.shape) == 0) return padding;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    check_tensor_memory(static_cast<std::size_t>(padding.shape[axis]), sizeof(std::int64_t));
    const std::int64_t size = input_shape[axis];
    const std::int64_t after = padding.shape[axis] - size - before[axis];
    const bool wraps = mode == Mode::circular;
    const std::int64_t first = wraps ? std::max<std::int64_t>(-before[axis], 0) : 0;
    const std::int64_t last = wraps ? size - std::max<std::int64_t>(-after, 0) : size;
    std::vector<std::int64_t>& table = padding.sources.emplace_back(static_cast<std::size_t>(padding.shape[axis]));
    for (std::size_t o = 0; o < table.size(); ++o) {
      table[o] = source_of(mode, static_cast<std::int64_t>(o) - before[axis], size, first, last);
    }
  }
  return padding;
}

// Calls row(first element of the input row or `outside`, first element of the output row) for every row of the output.
template <class Row>
void for_each_row(const Padding& padding, const Row& row) {
  const std::size_t outer = padding.shape.size() - 1;
  const Dims strides = row_major_strides(padding.input_shape);
  const std::int64_t rows = element_count(std::span(padding.shape.data(), outer));
  Dims index(outer);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < outer; ++axis) {
      const std::int64_t source = padding.sources[axis][static_cast<std::size_t>(index[axis])];
      if (source == outside) {
        from = outside;
        break;
      }
      from += source * strides[axis];
    }
    row(from, r * padding.shape.back());
    for (std::size_t axis = outer; axis-- > 0;) {
      if (++index[axis] < padding.shape[axis]) break;
      index[axis] = 0;
    }
  }
}

template <class S>
void copy_padded(const Padding& padding, const std::byte* input, const std::byte* fill_bytes, std::byte* output) {
  S fill;
  std::memcpy(&fill, fill_bytes, sizeof(S));
  const S* from = reinterpret_cast<const S*>(input);
  S* to = reinterpret_cast<S*>(output);
  const std::vector<std::int64_t>& columns = padding.sources.back();
  for_each_row(padding, [&](std::int64_t source, std::int64_t target) {
    if (source == outside) {
      std::fill_n(to + target, columns.size(), fill);
      return;
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      to[target + static_cast<std::int64_t>(i)] = columns[i] == outside ? fill : from[source + columns[i]];
    }
  });
}

Tensor forward(const Tensor& input, const Padding& padding, double value) {
  Tensor result(input.dtype(), padding.shape);
  if (result.numel() == 0) return result;
  const Tensor x = input.contiguous();
  const Tensor fill = Tensor::scalar(input.dtype(), value);
  std::byte* to = result.mutable_data<std::byte>();
  switch (size_of(input.dtype())) {
    case 1:
      copy_padded<std::uint8_t>(padding, x.raw(), fill.raw(), to);
      break;
    case 2:
      copy_padded<std::uint16_t>(padding, x.raw(), fill.raw(), to);
      break;
    case 4:
      copy_padded<std::uint32_t>(padding, x.raw(), fill.raw(), to);
      break;
    case 8:
      copy_padded<std::uint64_t>(padding, x.raw(), fill.raw(), to);
      break;
    default:
      copy_padded<std::complex<double>>(padding, x.raw(), fill.raw(), to);
      break;
  }
  return result;
}

// The elements of the result that an element of the input is copied to, at most.
std::int64_t most_copies(const Padding& padding) {
  std::int64_t most = 1;
  for (std::vector<std::int64_t> sources : padding.sources) {
    std::ranges::sort(sources);
    std::int64_t of_axis = 1;
    for (std::size_t first = 0, i = 0; i < sources.size(); ++i) {
      if (sources[i] != sources[first]) first = i;
      if (sources[i] != outside) of_axis = std::max(of_axis, static_cast<std::int64_t>(i - first + 1));
    }
    most *= of_axis;
  }
  return most;
}

Tensor backward(const EvaluationContext& context, const Tensor& gradient, const Padding& padding) {
  if (is_complex(gradient.dtype())) {
    return part_by_part(gradient, [&](const Tensor& part) { return backward(context, part, padding); });
  }
  const Accumulator accumulator = context.arithmetic.summation.accumulator;
  const Tensor g = to_compute(gradient);
  Tensor result = Tensor::zeros(g.dtype(), padding.input_shape);
  if (g.numel() == 0) return result;
  context.note_sums(most_copies(padding), result.numel());
  visit_compute(g.dtype(), [&](auto element) {
    using T = decltype(element);
    T* to = result.mutable_data<T>();
    const std::vector<std::int64_t>& columns = padding.sources.back();
    for_each_row(padding, [&](std::int64_t source, std::int64_t target) {
      if (source == outside) return;
      const T* from = g.data<T>() + target;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i] == outside) continue;
        T& sum = to[source + columns[i]];
        sum = add_step(sum, from[i], accumulator);
      }
    });
  });
  return result;
}

Var pad(const Var& x, const Dims& sizes, Mode mode, double value) {
  if (sizes.empty()) return x;
  const Padding padding = make_padding(x.shape(), sizes, mode);
  return x.tape().record(
      forward(x.tensor(), padding, value),
      {{x, [padding, &context = x.context()](const Tensor& g) { return backward(context, g, padding); }}});
}

Value pad_last(const Bound& args, Mode mode, std::size_t axes) {
  const Dims sizes = args.ints("padding");
  if (sizes.size() != 1 && sizes.size() != 2 * axes)
    throw SkipError("Padding must have " + std::to_string(2 * axes) + " sizes.");
  return pad(args.var("input"), sizes.size() == 1 ? Dims(2 * axes, sizes[0]) : sizes, mode, 0);
}

}  // namespace

OP("pad(Tensor input, int[] pad, str mode='constant', Scalar? value=None)", [](const Bound& args) -> Value {
  return pad(args.var("input"), args.ints("pad"), mode_of(args.text("mode")), args.optional_real("value").value_or(0));
});
NAMES("pad", "Functional: pad; Mint: pad; MintFunctional: pad; Aten: pad");
TRY_FIRST("pad", Trial::of_sizes);
TRAITS("pad", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("constant_pad_nd(Tensor input, int[] pad, Scalar value=0)", [](const Bound& args) -> Value {
  return pad(args.var("input"), args.ints("pad"), Mode::constant, args.real("value"));
});
NAMES("constant_pad_nd", "Torch: constant_pad_nd; Aten: constant_pad_nd");
TRY_FIRST("constant_pad_nd", Trial::of_sizes);
TRAITS("constant_pad_nd", .copies_only = true);

OP("reflection_pad1d(Tensor input, int[] padding)", [](const Bound& args) { return pad_last(args, Mode::reflect, 1); });
NAMES("reflection_pad1d", "Aten: reflection_pad1d");
TRY_FIRST("reflection_pad1d", Trial::of_sizes);
TRAITS("reflection_pad1d", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);
OP("reflection_pad2d(Tensor input, int[] padding)", [](const Bound& args) { return pad_last(args, Mode::reflect, 2); });
NAMES("reflection_pad2d", "Aten: reflection_pad2d");
TRY_FIRST("reflection_pad2d", Trial::of_sizes);
TRAITS("reflection_pad2d", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);
OP("reflection_pad3d(Tensor input, int[] padding)", [](const Bound& args) { return pad_last(args, Mode::reflect, 3); });
NAMES("reflection_pad3d", "Aten: reflection_pad3d");
TRY_FIRST("reflection_pad3d", Trial::of_sizes);
TRAITS("reflection_pad3d", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("replication_pad1d(Tensor input, int[] padding)",
   [](const Bound& args) { return pad_last(args, Mode::replicate, 1); });
NAMES("replication_pad1d", "Aten: replication_pad1d");
TRY_FIRST("replication_pad1d", Trial::of_sizes);
TRAITS("replication_pad1d", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);
OP("replication_pad2d(Tensor input, int[] padding)",
   [](const Bound& args) { return pad_last(args, Mode::replicate, 2); });
NAMES("replication_pad2d", "Aten: replication_pad2d");
TRY_FIRST("replication_pad2d", Trial::of_sizes);
TRAITS("replication_pad2d", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);
OP("replication_pad3d(Tensor input, int[] padding)",
   [](const Bound& args) { return pad_last(args, Mode::replicate, 3); });
NAMES("replication_pad3d", "Aten: replication_pad3d");
TRY_FIRST("replication_pad3d", Trial::of_sizes);
TRAITS("replication_pad3d", .copies_only = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

}  // namespace msrun
