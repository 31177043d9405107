// numpy's .npz archives: a ZIP file with one stored .npy array per member.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/io/files/file.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/io/stored/stored_tensor.h"

namespace msrun {

struct NpzMember {
  std::string name;  // without ".npy"
  NpyHeader header;
};

// torchair_convert 0.2 gave arrays without elements the checksum 0: whether that is taken for sound.
enum class OldChecksums : std::uint8_t { accept, refuse };

// The members in the order of the archive; their data are read by a TensorReader. Reads all bytes once, as numpy does,
// to compare them with their checksums. Throws SkipError, one sentence that names the file, for what is no archive of
// uncompressed arrays of numbers, or a damaged one.
std::vector<NpzMember> read_npz(const InputFile& file, OldChecksums old = OldChecksums::accept);
// The member of that name; null if there is none.
const NpzMember* find_member(std::span<const NpzMember> members, std::string_view name);

// An array in memory: row-major, little-endian.
struct NpzArray {
  std::string name;  // without ".npy"
  NumpyType type = NumpyType::float64;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

// The archive as numpy.savez writes it, for arrays that fit into memory.
std::string npz_bytes(std::span<const NpzArray> arrays);

}  // namespace msrun
