// The header of numpy's .npy arrays, format versions 1 to 3: what lies where in a file, and the bytes that numpy itself
// would put before an array.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/io/files/file.h"
#include "kernels/io/numpy/numpy_type.h"

namespace msrun {

// The file ends before what it states. It may still be being written.
class IncompleteFileError : public SkipError {
 public:
  using SkipError::SkipError;
};

// An array of something else than numbers of a fixed size: objects, text, structures.
class UnsupportedTypeError : public SkipError {
 public:
  using SkipError::SkipError;
};

struct NpyHeader {
  NumpyType type = NumpyType::float32;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::uint64_t data_begin = 0;  // offset in the file
  std::uint64_t data_bytes = 0;  // all inside the file
};

// The array that begins at `begin` and must end at `end` or before. Throws IncompleteFileError if it does not,
// UnsupportedTypeError if its elements are no numbers, SkipError for anything else that is no array; all are one
// sentence that names the file.
//
// Two bytes without a type, as numpy stores the bfloat16 of other packages, are no numbers either, unless raw_as_uint16
// takes them for uint16.
NpyHeader read_npy_header(const InputFile& file, std::uint64_t begin, std::uint64_t end, bool raw_as_uint16 = false);
NpyHeader read_npy_header(const InputFile& file);

// Magic, version 1 and header of a row-major little-endian array; a multiple of 64 bytes.
std::string npy_header_bytes(NumpyType type, std::span<const std::int64_t> shape);

}  // namespace msrun
