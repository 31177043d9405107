// What an operator was free to do, for whoever compares its result: which of several values stays at a place that an
// index names several times, which of several equal elements of a window it picked, on which side of an edge it counted
// an element, and in which order it put its results; and the terms of results that have no tensors behind them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/numeric/pooling_windows.h"
#include "kernels/numeric/selection.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// Values written to places of the result that an index names.
struct Writes {
  std::shared_ptr<const Selection> selection;  // positions in the result
  Tensor values;                               // broadcast to the selection
};

// A maximum over windows.
struct WindowPicks {
  Geometry geometry;
  Tensor index;     // of every output its element in the input plane; -1: none
  Tensor gradient;  // of the outputs; undefined until a backward comes here
};

// Counts by bins that follow each other: how many elements of each lie within rounding of its edges.
struct EdgeCounts {
  std::vector<std::int64_t> at_lower;
  std::vector<std::int64_t> at_upper;
};

// In which order results stand is not said (sorted=False).
struct OpenOrder {
  enum class Kind : std::uint8_t {
    rows,    // every output alike, along the axis, in each row its own
    groups,  // a vector of values; beside them may be the place of every element among them, and how many it has
  };
  Kind kind = Kind::rows;
  std::int64_t axis = 0;    // of rows
  bool has_places = false;  // groups: the second output is the places
};

struct Choices {
  std::optional<Writes> writes;
  std::optional<WindowPicks> windows;
  std::optional<EdgeCounts> edges;
  std::optional<OpenOrder> order;
  // What another function that a dump may call by the same name would have done, a sentence; empty: the same.
  std::string_view namesake;
  // Root of the sum of the squares of the terms behind each element of the result, float64; undefined: not told.
  Tensor terms;
};

}  // namespace msrun
