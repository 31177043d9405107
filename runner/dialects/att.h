// The layout of the old pre-check of 2023 (att_layout.md) for recordings of PyTorch: its rule, its two files, its
// words.
#pragma once

#include <cstdint>
#include <string>

#include "runner/dialects/dialect.h"

namespace msrun {

// raw: as the old tool wrote it, its known errors included.
const Dialect& att_dialect(bool raw);

// What a row of the old result file says of a call.
struct AttVerdict {
  enum class Cell : std::uint8_t { no, yes, not_applicable, skip };

  Cell forward = Cell::skip;
  Cell backward = Cell::skip;
  // The user's lists leave the call out: it has no row.
  bool left_out = false;
  // The old tool got as far as the comparison.
  bool compared = false;

  bool is_skip() const { return forward == Cell::skip || backward == Cell::skip; }
};

// Whether the call has an argument out=, for which the old tool ran no backward.
bool writes_into_argument(const ApiCall& call);

AttVerdict att_verdict(const ApiResult& result, bool raw);

}  // namespace msrun
