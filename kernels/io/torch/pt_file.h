// torch's .pt files that hold one tensor: what a dump of real data consists of, and what -save_error_data writes
// (acc_check_pytorch.md Appendix A).
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "kernels/io/files/file.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// A file of some bytes may describe a tensor of any size over them, by strides of 0, and whoever goes through its
// elements takes time or memory for all of them. Recorders write every element: so many bytes of a tensor that repeats
// some are more than enough.
inline constexpr std::uint64_t most_repeated = std::uint64_t{1} << 30;
// For those who ask what a tensor needs before they go through it.
inline constexpr std::uint64_t any_repeated = std::numeric_limits<std::uint64_t>::max();

// On the host, wherever the tensor was. Strided tensors are gathered; expanded ones stay views, so that a small file
// needs little memory, and are refused if they have more than `most` bytes. Throws SkipError, one sentence that names
// the file, for anything else than one plain tensor.
Tensor read_pt(const InputFile& file, std::uint64_t most = most_repeated);
Tensor read_pt(const std::string& path, std::uint64_t most = most_repeated);

// Whether an entry of the file has other bytes than its checksum says. A hint only, for torch can be told to save
// without valid checksums, and read_pt does not check them. False for what is no such file.
bool contradicts_its_checksums(const std::string& path);

// Row-major, for torch.load of any version with that dtype. Throws FileError if the file cannot be written.
void write_pt(const std::string& path, const Tensor& tensor);
void write_pt(const Folder& folder, const std::string& name, const Tensor& tensor);

}  // namespace msrun
