// The bytes that take the place of a dump file (torchair.md 10.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "kernels/base/error.h"
#include "kernels/io/files/file.h"
#include "tools/torchair_convert/names.h"

namespace msrun::convert {

enum class Statistics : std::uint8_t { minmax, full };

// The file is sound, but there is nothing to convert in it: no elements, no numbers.
class NothingToConvertError : public SkipError {
 public:
  using SkipError::SkipError;
};

// Throws IncompleteFileError while the file is shorter or longer than it states, NothingToConvertError, and SkipError
// for what cannot be read; all are one sentence. buffer is for the reading: its size bounds what the conversion takes.
std::string converted_bytes(const InputFile& source, SourceKind kind, Statistics statistics,
                            std::span<std::byte> buffer);

// Reads such bytes back from a file. Throws SkipError unless they are arrays that others can read as well, of kind ge
// with the checksums that others look at.
void check_converted(const InputFile& converted, SourceKind kind);

}  // namespace msrun::convert
