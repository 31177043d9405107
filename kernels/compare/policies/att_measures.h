// The six measures that the old pre-check takes of a pair of tensors (att_layout.md 7.1, 7.2): each has a value, a
// message and a truth.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/compare/details.h"
#include "kernels/compare/metrics/columns.h"

namespace msrun {

class Tensor;

inline constexpr std::size_t att_measure_count = 6;

// The columns of the old details file, without their messages: cosine, the two maxima, the two ratios, and the one for
// values that are no tensors.
const ColumnSet& att_columns();

// Stands for "True". A blank cell stands for "N/A".
Cell att_true_cell();

// What holds of one output, or of all outputs of a direction together. The largest relative error decides nothing.
struct AttTruths {
  bool cosine = true;
  bool absolute_error = true;
  bool thousandth = true;
  bool ten_thousandth = true;
  bool builtin = true;

  static AttTruths all(bool truth) { return {truth, truth, truth, truth, truth}; }
  void and_also(const AttTruths& other);
  // A small absolute error is enough.
  bool passes() const { return (cosine && thousandth && ten_thousandth && builtin) || absolute_error; }
};

struct AttMeasures {
  std::array<Cell, att_measure_count> cells;
  // What stands beside the cosine, or beside all measures where none could be taken.
  std::string message;
  AttTruths truths;
};

// Throws SkipError where raw and the old tool failed: shapes of float tensors that differ, and float tensors without
// elements.
AttMeasures measure_att(const Tensor& bench, const Tensor& device, bool raw);

using AttMessages = std::array<std::string, att_measure_count>;

// The message beside each cell of a row, of which message is the first line.
AttMessages att_messages(const DetailsRow& row, const std::string& message, bool raw);

// Reasons of these failures, in the old tool's words.
inline constexpr std::string_view att_shape_failure = "'bool' object has no attribute 'dtype'";
inline constexpr std::string_view att_empty_failure =
    "zero-size array to reduction operation maximum which has no identity";

}  // namespace msrun
