// The files in which the graph engine dumps the inputs and outputs of an operator (torchair.md 5): a length, a protobuf
// message that describes the tensors, then their bytes.
//
// The message is read by a wire-format reader of our own rather than by protobuf's library: it takes the ten fields
// that matter out of a few hundred bytes, skips all others whatever their number means, checks every length against the
// file, and needs no generated code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/io/files/file.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/io/stored/stored_tensor.h"

namespace msrun {

// Formats that are not stored in the order of their shape (torchair.md 5.2).
namespace ge_format {
inline constexpr std::int32_t nchw = 0;
inline constexpr std::int32_t nhwc = 1;
inline constexpr std::int32_t nd = 2;
inline constexpr std::int32_t nc1hwc0 = 3;
inline constexpr std::int32_t fractal_z = 4;
inline constexpr std::int32_t hwcn = 16;
inline constexpr std::int32_t fractal_nz = 29;
inline constexpr std::int32_t ncdhw = 30;
inline constexpr std::int32_t ndc1hwc0 = 32;
}  // namespace ge_format

// One input or output as the message describes it.
struct GeTensor {
  std::int32_t data_type = 0;
  std::int32_t format = 0;
  std::int32_t sub_format = 0;
  std::vector<std::uint64_t> shape;           // as stored on the device
  std::vector<std::uint64_t> original_shape;  // of the logical tensor; empty if the dump does not say
  std::uint64_t size = 0;                     // bytes in the file
  std::uint64_t begin = 0;                    // their offset
};

struct GeDump {
  std::string version;
  std::uint64_t dump_time = 0;
  std::string op_name;
  std::vector<GeTensor> inputs;
  std::vector<GeTensor> outputs;
  std::uint64_t end = 0;  // where the data end; a finished file is this long
};

// Reads the description, not the data. Throws IncompleteFileError if the file ends before what it states, SkipError if
// it is no such file; both are one sentence that names the file.
GeDump read_ge_dump(const InputFile& file);

// How the tensor is read: dtype, device layout, padding to be cut off (torchair.md 5.1 and 6). Throws SkipError for
// dtypes that cannot be decoded, and if the shape needs more bytes than there are.
StoredTensor stored_tensor(const GeTensor& tensor, const std::string& path);

// What a file is called: {op type}.{op name}.{task}.{stream}.{timestamp}, with or without "_min_max.npz" (torchair.md
// 2.1). The op name may hold dots.
struct GeFileName {
  std::string op_type;
  std::string op_name;
  std::string timestamp;
  bool converted = false;
};
// Nothing if there are fewer than four dots.
std::optional<GeFileName> parse_ge_file_name(std::string_view name);

// The rows of a mapping.csv (torchair.md 2.2): stored name to real name.
struct NameMapping {
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<std::size_t> bad_lines;  // counted from 1; lines without exactly two fields, or that end within quotes
};
// Throws SkipError if the file cannot be read or has more than 100 MB.
NameMapping read_name_mapping(const InputFile& file);

// What file names say about being converted already or being no dump at all (torchair.md 2.1 and 10.1).
inline constexpr std::string_view converted_npy_suffix = "_min_max.npy";
inline constexpr std::string_view converted_npz_suffix = "_min_max.npz";

}  // namespace msrun
