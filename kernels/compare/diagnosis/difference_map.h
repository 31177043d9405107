// Where in an output the wrong elements are: the smallest regular place that holds all of them, such as a row or every
// eighth block, with counts and a coarse picture.
//
// Of the places that hold all wrong elements the one is named that describes them in the fewest bits: those that tell
// the place from others of its form, and those that tell which of its elements are wrong (minimum description length:
// Rissanen, "Modeling by shortest data description", Automatica 14 (1978)). Elements inside may be right by chance. A
// place is named only if it saves bits over a list of the wrong elements among all; elements that are strewn over the
// output save none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor/dims.h"

namespace msrun {

struct DifferenceMap {
  enum class Kind : std::uint8_t {
    scattered,   // no regular place
    everywhere,  // at least half of all elements, in no regular place
    element,     // one
    row,         // one index of each axis but the last
    column,      // indices of the last axis, all over the others
    head,        // indices of one or more leading axes, all over the others
    box,         // a range of indices of several axes
    block,       // neighbours in row-major order
    tail,        // the last tile of an axis, or of the row-major order
    period,      // every so manyeth block of the row-major order
  };
  Kind kind = Kind::scattered;
  std::int64_t elements = 0;  // of the output
  std::int64_t wrong = 0;     // of these
  std::int64_t region = 0;    // elements of the place, which holds all wrong ones; elements if there is no such place
  std::int64_t first = 0;     // the first and the last element of the place in row-major order
  std::int64_t last = 0;
  // The place in brackets, for every axis an index, a range or a colon, "[:, 3, 128:256]"; empty where the place is
  // none of that form.
  std::string place;
  // Kind period: elements of a block. Kind tail, and a row or head that is the last partial tile of the row-major order
  // too: indices of a tile. Else 0.
  std::int64_t block = 0;
  std::int64_t period = 0;  // kind period: one block of so many is wrong; else 0
  std::int64_t axis = -1;   // kind tail: that of the tiles; -1: the row-major order

  // At most picture_lines lines of at most picture_columns characters, each for the same number of elements: '.' where
  // none is wrong, '+' where some are, '#' where at least half are. Empty for outputs of fewer than two elements.
  std::vector<std::string> picture;
  // What one character stands for: so many rows of the output seen as a matrix with the rows of its last axis, and
  // neighbours in a row. 0 rows: neighbours in row-major order, line after line.
  std::int64_t cell_rows = 0;
  std::int64_t cell_columns = 0;
};

inline constexpr std::int64_t picture_lines = 8;
inline constexpr std::int64_t picture_columns = 32;

// "scattered", "everywhere", "element", "row", "column", "head", "box", "block", "tail", "period".
std::string_view kind_text(DifferenceMap::Kind kind);

// The map of an output of this shape. is_wrong has an element for each of its elements in row-major order, or none if
// none is wrong. element_bytes is the size of an element: blocks that cores share out are multiples of 2048 elements or
// bytes, or even parts of the output.
DifferenceMap map_differences(const Dims& shape, const std::vector<bool>& is_wrong, std::size_t element_bytes);

// One sentence that names the place; empty for scattered and everywhere. shape is that of the output.
std::string place_sentence(const DifferenceMap& map, const Dims& shape);

// The line above the picture: what a character is, and what it means.
std::string picture_legend(const DifferenceMap& map);

}  // namespace msrun
