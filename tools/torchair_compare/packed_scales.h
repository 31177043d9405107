// Scales of quantised products as devices take them: a float32 in the low half of a 64-bit integer, whose low 13 bits
// are cleared, an offset of nine bits and a mark in the high half. As numbers such integers are equal but for 0.006 %
// whatever the scale is.
#pragma once

#include <optional>

#include "kernels/io/stored/stored_tensor.h"

namespace msrun::torchair {

struct PackedScales {
  StoredTensor scales;     // float32
  StoredTensor rest;       // the high halves, which hold the offsets
  bool marked = false;     // every element has the mark: nothing else is stored so
  bool plausible = false;  // every scale is a number of ordinary size
};

// Nothing where the elements are no 64-bit integers of that form. Throws SkipError if the file cannot be read.
std::optional<PackedScales> packed_scales(const InputFile& file, const StoredTensor& tensor);

}  // namespace msrun::torchair
