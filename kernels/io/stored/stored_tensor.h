// A tensor that lies in a file, described but not read: where its bytes are, how its elements are encoded and in which
// order they are stored. TensorReader gives the elements in logical order block by block, so that a tensor of any size
// is read in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/io/files/file.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/io/numpy/numpy_type.h"

namespace msrun {

// How elements lie in the file; all but plain are decoded to another type.
enum class Encoding : std::uint8_t {
  plain,          // as NumpyType says
  bfloat16,       // to float32
  float8_e4m3fn,  // the three 8-bit floats to float64
  float8_e5m2,
  hifloat8,
  int4,  // two per byte, the low nibble first; to int8
  bit,   // eight per byte, the highest bit first; to uint8
};

// One axis of the logical tensor over the stored one. Device layouts split an axis into blocks: element i lies
// (i / block) * outer_stride + (i % block) * stride elements from the first.
struct StoredAxis {
  std::int64_t size = 0;  // of the logical tensor
  std::int64_t block = 0;
  std::int64_t outer_stride = 0;
  std::int64_t stride = 0;
  std::int64_t blocks = 1;  // as stored, with those that are nothing but padding
};

struct StoredTensor {
  NumpyType type = NumpyType::float32;  // of the elements as they are read
  Encoding encoding = Encoding::plain;
  bool big_endian = false;
  std::vector<std::int64_t> shape;  // logical
  std::int64_t count = 0;           // its elements
  std::uint64_t begin = 0;          // offset of the stored elements in the file
  std::int64_t stored_count = 0;    // with padding
  std::vector<StoredAxis> axes;     // empty: stored in logical order without padding
};

// Bytes that stored_count elements take in the file.
std::uint64_t stored_bytes(const StoredTensor& tensor);

// "torch.float32": how a comparison names the type; "torch.int4" for Encoding::int4.
std::string_view compared_type_name(const StoredTensor& tensor);

StoredTensor stored_tensor(const NpyHeader& header);

// Elements that hold two numbers each, as a tensor of the first or of the second ones in the same file. type is that of
// the numbers, half the size of the tensor's own.
enum class Part : std::uint8_t { first, second };
StoredTensor half_elements(const StoredTensor& tensor, Part which, NumpyType type);
// The imaginary parts of a tensor of complex numbers, as a tensor of floats in the same file.
StoredTensor imaginary_part(const StoredTensor& tensor);

class TensorReader {
 public:
  // file must outlive the reader.
  TensorReader(const InputFile& file, const StoredTensor& tensor);
  ~TensorReader();
  TensorReader(const TensorReader&) = delete;
  TensorReader& operator=(const TensorReader&) = delete;

  // The next elements in row-major order of the logical shape, as their type; returns how many there were: as many as
  // fit into target until the tensor ends, then 0. target is aligned for the type. Throws SkipError if the file cannot
  // be read or has become shorter.
  std::size_t read(std::span<std::byte> target);
  // Reads elements converted to float32: integers rounded, bool as 0 and 1, complex numbers by their real part.
  std::size_t read(std::span<float> target);
  std::size_t read(std::span<double> target);

 private:
  class BlockCache;

  template <class T>
  std::size_t read_as(std::span<T> target);
  void load(std::int64_t count, std::byte* target);
  void gather(std::int64_t count, std::byte* target);

  const InputFile& file_;
  const StoredTensor tensor_;
  std::int64_t next_ = 0;              // element
  std::vector<std::byte> raw_;         // stored elements, to be decoded
  std::vector<std::byte> converted_;   // decoded elements, to be converted
  std::unique_ptr<BlockCache> cache_;  // for tensors that are not stored in logical order
};

// Decodes count stored elements, of which the first is number `first` of those at source: sub-byte elements need not
// begin at a byte. Plain elements are copied, their byte order and booleans put right. target is aligned for the type.
void decode(const StoredTensor& tensor, const std::byte* source, std::size_t first, std::size_t count,
            std::byte* target);

// count elements of type, as TensorReader gives them, as float64; of complex numbers the real part.
void load_doubles(NumpyType type, const std::byte* elements, std::size_t count, double* target);

}  // namespace msrun
