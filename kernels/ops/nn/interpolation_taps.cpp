#include "kernels/ops/nn/interpolation_taps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "kernels/numeric/roughness.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {
namespace {

Taps make_taps(std::int64_t in, std::int64_t out, std::int64_t count) {
  if (count > (std::int64_t{1} << 28) / out) throw SkipError("Interpolation: the filter is too wide for this size.");
  check_tensor_memory(static_cast<std::size_t>(out * count), sizeof(std::int64_t) + sizeof(double));
  Taps taps{in, out, count, {}, {}};
  taps.index.resize(static_cast<std::size_t>(out * count), -1);
  taps.weight.resize(static_cast<std::size_t>(out * count));
  return taps;
}

// Positions are computed in float32 for every dtype, as torch does: a position that falls on an integer must fall on
// the same side of it.
Taps nearest_taps(const Axis& axis, bool exact, bool by_lengths) {
  Taps taps = make_taps(axis.in, axis.out, 1);
  const auto scale = static_cast<float>(axis.scale());
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const float position = exact ? (static_cast<float>(o) + 0.5F) * scale : static_cast<float>(o) * scale;
    std::int64_t source = std::min(static_cast<std::int64_t>(std::floor(position)), axis.in - 1);
    if (by_lengths && has_shortcut(axis)) source = o * axis.in / axis.out;
    taps.add(o, 0, source, 1);
  }
  return taps;
}

// A position as a device may have it. On an element it lies on one side of it in every second rough computation: the
// neighbour on that side counts there, and nowhere else.
template <class Real>
Real placed(Real position, std::uint32_t seed) {
  if (seed == 0) return position;
  if (position == 0 || position != std::floor(position)) return off_by_a_place(position, seed);
  constexpr Real infinity = std::numeric_limits<Real>::infinity();
  return std::nextafter(position, seed % 2 == 0 ? infinity : -infinity);
}

// A position of a result whose kernels leave those on an element behind it.
template <class Real>
Real behind(Real position) {
  const Real nearest = std::round(position);
  const Real place = static_cast<Real>(epsilon(DType::float32)) * std::max(std::abs(nearest), Real{1});
  return std::abs(position - nearest) <= place ? nearest + place : position;
}

// Positions and weights between elements are computed in Real: for float32 and narrower tensors in float, as frameworks
// and devices do, so that what they lose there counts as rounding.
template <class Real>
Taps linear_taps(const Axis& axis, const ResizeOptions& options) {
  const bool align_corners = options.align_corners;
  if (axis.in == axis.out) return copying_taps(axis, 2);
  Taps taps = make_taps(axis.in, axis.out, 2);
  const Real scale = static_cast<Real>(axis.scale(align_corners));
  const Real half = static_cast<Real>(0.5);
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const Real at = static_cast<Real>(o);
    const Real exact = align_corners ? at * scale : scale * (at + half) - half;
    const Real position =
        std::max(options.behind_elements ? behind(exact) : placed(exact, options.seed_of_positions), Real{0});
    const std::int64_t low = std::min(static_cast<std::int64_t>(position), axis.in - 1);
    const Real fraction = std::min(position - static_cast<Real>(low), Real{1});
    taps.add(o, 0, low, static_cast<double>(rough_step(1 - fraction, options.seed_of_weights)));
    taps.add(o, 1, std::min(low + 1, axis.in - 1), static_cast<double>(rough_step(fraction, options.seed_of_weights)));
  }
  return taps;
}

// The cubic convolution kernel with parameter a at a distance d below 2; store() leaves of each step what is held.
template <class Real, class Store>
Real cubic_polynomial(Real d, Real a, const Store& store) {
  if (d <= 1) return store(store(store(store(store(store((a + 2) * d) - (a + 3)) * d) * d) + 1));
  return store(store(store(store(store(store(a * d) - 5 * a) * d) + 8 * a) * d) - 4 * a);
}

// The cubic convolution kernel with parameter a. Between elements its terms, the largest of which is 8 a or a + 3,
// cancel: in a rough computation they leave half a place of that.
template <class Real>
Real cubic(Real distance, Real a, const ResizeOptions& options) {
  const Real d = std::abs(distance);
  if (d >= 2) return 0;
  const Real value = cubic_polynomial(d, a, [](Real step) { return step; });
  const std::uint32_t seed = options.seed_of_positions;
  if (seed == 0 || d == std::floor(d)) return rough_step(value, options.seed_of_weights);
  const Real term = d <= 1 ? a + 3 : 8 * std::abs(a);
  const Real half_a_place = (std::nextafter(term, std::numeric_limits<Real>::infinity()) - term) / 2;
  return word_of(d, seed) % 2 == 0 ? value + half_a_place : value - half_a_place;
}

// Those of kernels that hold positions and weights in a half type, of positions alone or of every step.
Taps stored_cubic_taps(const Axis& axis, const ResizeOptions& options) {
  Taps taps = make_taps(axis.in, axis.out, 4);
  const auto in_half = [&](float value) { return stored_in(options.stored, value); };
  const auto by_steps = [&](float value) { return options.held == Positions::stored ? value : in_half(value); };
  const float scale = by_steps(static_cast<float>(axis.scale(options.align_corners)));
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const float at = by_steps(static_cast<float>(o));
    const float exact = options.align_corners ? at * scale : by_steps(scale * by_steps(at + 0.5F)) - 0.5F;
    const float position = in_half(exact);
    const float low = std::floor(position);
    for (std::int64_t k = 0; k < 4; ++k) {
      const float distance = std::abs(by_steps(in_half(position - low) + 1 - static_cast<float>(k)));
      const float weight = distance < 2 ? cubic_polynomial(distance, -0.75F, by_steps) : 0;
      const std::int64_t source = static_cast<std::int64_t>(low) - 1 + k;
      taps.add(o, k, std::clamp<std::int64_t>(source, 0, axis.in - 1), static_cast<double>(weight));
    }
  }
  return taps;
}

template <class Real>
Taps cubic_taps(const Axis& axis, const ResizeOptions& options) {
  if (options.held != Positions::wide) return stored_cubic_taps(axis, options);
  const bool align_corners = options.align_corners;
  Taps taps = make_taps(axis.in, axis.out, 4);
  const Real scale = static_cast<Real>(axis.scale(align_corners));
  const Real half = static_cast<Real>(0.5);
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const Real at = static_cast<Real>(o);
    const Real exact = align_corners ? at * scale : scale * (at + half) - half;
    const Real position = options.behind_elements ? behind(exact) : placed(exact, options.seed_of_positions);
    const Real low = std::floor(position);
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t source = static_cast<std::int64_t>(low) - 1 + k;
      taps.add(
          o, k, std::clamp<std::int64_t>(source, 0, axis.in - 1),
          static_cast<double>(cubic(position - low + 1 - static_cast<Real>(k), static_cast<Real>(-0.75), options)));
    }
  }
  return taps;
}

Taps area_taps(const Axis& axis) {
  Taps taps = make_taps(axis.in, axis.out, axis.in / axis.out + 2);
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const std::int64_t start = o * axis.in / axis.out;
    const std::int64_t stop = ((o + 1) * axis.in + axis.out - 1) / axis.out;
    for (std::int64_t i = start; i < stop; ++i) taps.add(o, i - start, i, 1 / static_cast<double>(stop - start));
  }
  return taps;
}

// The filter widens with the scale when the image shrinks; its weights are normalised over the taps inside the image.
template <class Real>
Taps antialiased_taps(const Axis& axis, const ResizeOptions& options, bool is_cubic) {
  const Real scale = static_cast<Real>(axis.scale(options.align_corners));
  const Real stretch = std::max(scale, Real{1});
  const Real half = static_cast<Real>(0.5);
  const Real support = (is_cubic ? 2 : 1) * stretch;
  Taps taps = make_taps(axis.in, axis.out, std::min(axis.in, static_cast<std::int64_t>(std::ceil(support)) * 2 + 1));
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const Real centre = placed(scale * (static_cast<Real>(o) + half), options.seed_of_positions);
    const std::int64_t start =
        std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(centre - support + half)), 0);
    const std::int64_t stop = std::min(static_cast<std::int64_t>(std::floor(centre + support + half)), axis.in);
    double total = 0;
    const std::int64_t count = std::min(stop - start, taps.count);
    for (std::int64_t i = 0; i < count; ++i) {
      const Real distance = std::abs((static_cast<Real>(start + i) - centre + half) / stretch);
      const double value =
          static_cast<double>(is_cubic ? cubic(distance, -half, options) : std::max(1 - distance, Real{0}));
      taps.add(o, i, start + i, value);
      total += value;
    }
    for (std::int64_t i = 0; i < count && total != 0; ++i)
      taps.weight[static_cast<std::size_t>(o * taps.count + i)] /= total;
  }
  return taps;
}

template <class Real>
Taps taps_of(const Axis& axis, const ResizeOptions& options) {
  switch (options.mode) {
    case Mode::nearest:
      return nearest_taps(axis, false, options.by_lengths);
    case Mode::nearest_exact:
      return nearest_taps(axis, true, false);
    case Mode::area:
      return area_taps(axis);
    case Mode::linear:
    case Mode::cubic:
      break;
  }
  if (options.antialias) return antialiased_taps<Real>(axis, options, options.mode == Mode::cubic);
  return options.mode == Mode::linear ? linear_taps<Real>(axis, options) : cubic_taps<Real>(axis, options);
}

}  // namespace

bool has_shortcut(const Axis& axis) { return axis.out == axis.in || axis.out == 2 * axis.in; }

Taps copying_taps(const Axis& axis, std::int64_t count) {
  Taps taps = make_taps(axis.in, axis.out, count);
  for (std::int64_t o = 0; o < axis.out; ++o) {
    for (std::int64_t k = 0; k < count; ++k) taps.add(o, k, o, k == 0 ? 1 : 0);
  }
  return taps;
}

Taps taps_of(const Axis& axis, const ResizeOptions& options, DType wide) {
  return wide == DType::float64 ? taps_of<double>(axis, options) : taps_of<float>(axis, options);
}

}  // namespace msrun
