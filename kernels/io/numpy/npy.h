// numpy's .npy files, format versions 1 to 3.
#pragma once

#include <string>

#include "kernels/io/files/file.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// Row-major; bool as 0 and 1, whatever non-zero bytes the file has. Big-endian and Fortran-ordered files are turned
// round. Throws SkipError, one sentence that names the file, for anything that is no array of a dtype torch has too.
Tensor read_npy(const InputFile& file);
Tensor read_npy(const std::string& path);

// Reads an array whose uint16, which torch lacks, and two bytes without a type are the bits of uint16_as, a dtype of
// two bytes; was_uint16 says whether the file has such elements.
Tensor read_npy(const std::string& path, DType uint16_as, bool* was_uint16);

// Row-major, for numpy.load, of a dtype that numpy has. Throws FileError if the file cannot be written.
void write_npy(const Folder& folder, const std::string& name, const Tensor& tensor);

}  // namespace msrun
