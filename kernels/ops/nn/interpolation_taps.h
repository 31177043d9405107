// The taps of an interpolation along one axis: the input elements whose weighted sum is an output element, for every
// mode. Positions follow torch's kernels, and so does the dtype in which they are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/tensor/dtype.h"
#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {

struct Taps {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t count = 1;           // per output element
  std::vector<std::int64_t> index;  // [out, count]; -1 where an output element has fewer taps
  std::vector<double> weight;

  void add(std::int64_t o, std::int64_t slot, std::int64_t source, double value) {
    index[static_cast<std::size_t>(o * count + slot)] = source;
    weight[static_cast<std::size_t>(o * count + slot)] = value;
  }
};

enum class Mode : std::uint8_t { nearest, nearest_exact, linear, cubic, area };

struct Axis {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::optional<double> factor;  // the user's scale factor where it decides about positions
  double scale() const { return factor ? 1 / *factor : static_cast<double>(in) / static_cast<double>(out); }
  double scale(bool align_corners) const {
    if (!align_corners) return scale();
    return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  }
};

struct ResizeOptions {
  Mode mode = Mode::nearest;
  bool align_corners = false;
  bool antialias = false;
  bool by_lengths = false;  // mode nearest: an axis that keeps or doubles its length goes by that, not by its factor
  // Positions on an element are a place behind it, as where a fused operation leaves more of them than is stored: the
  // next element counts for next to nothing there, and not for nothing.
  bool behind_elements = false;
  // How the positions and weights of mode cubic are held, in which half type.
  Positions held = Positions::wide;
  DType stored = DType::float32;
  // The seeds by which positions and the terms of weights, and weights, are moved in a rough computation
  // (kernels/numeric/roughness.h). Kernels that compute wide, as those of half types do with positions, may store a
  // weight in the half type that they multiply; others move positions alone.
  std::uint32_t seed_of_positions = 0;
  std::uint32_t seed_of_weights = 0;
};

// Whether an axis keeps or doubles its length, for which kernels have shortcuts that leave its factor out.
bool has_shortcut(const Axis& axis);

// The taps by which an axis that keeps its length is copied, count of them for every element.
Taps copying_taps(const Axis& axis, std::int64_t count);

// wide is the dtype that elements are computed in. Throws SkipError for a filter that is too wide.
Taps taps_of(const Axis& axis, const ResizeOptions& options, DType wide);

}  // namespace msrun
