#include "kernels/io/stored/stored_tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/saturated.h"
#include "kernels/io/stored/narrow_floats.h"

namespace msrun {
namespace {

constexpr std::size_t cache_bytes = std::size_t{16} << 20;
constexpr std::size_t smallest_block = 512;
constexpr std::size_t largest_block = std::size_t{64} << 10;
constexpr std::size_t elements_at_once = 16384;

// Bytes of an element, for plain elements and those that decode to one value each.
std::size_t stored_size(const StoredTensor& tensor) {
  switch (tensor.encoding) {
    case Encoding::plain:
      return size_of(tensor.type);
    case Encoding::bfloat16:
      return 2;
    default:
      return 1;
  }
}

std::int64_t elements_per_byte(Encoding encoding) {
  if (encoding == Encoding::int4) return 2;
  return encoding == Encoding::bit ? 8 : 1;
}

template <class Decode>
std::array<double, 256> decoded_bytes(Decode decode_byte) {
  std::array<double, 256> values{};
  for (std::size_t bits = 0; bits < values.size(); ++bits) values[bits] = decode_byte(static_cast<std::uint8_t>(bits));
  return values;
}

const std::array<double, 256>& byte_values(Encoding encoding) {
  static const std::array<double, 256> e4m3fn = decoded_bytes(decode_float8_e4m3fn);
  static const std::array<double, 256> e5m2 = decoded_bytes(decode_float8_e5m2);
  static const std::array<double, 256> hifloat8 = decoded_bytes(decode_hifloat8);
  if (encoding == Encoding::float8_e4m3fn) return e4m3fn;
  return encoding == Encoding::float8_e5m2 ? e5m2 : hifloat8;
}

void reverse_bytes(NumpyType type, std::byte* data, std::size_t count) {
  const std::size_t parts = is_complex(type) ? 2 : 1;
  const std::size_t size = size_of(type) / parts;
  for (std::size_t i = 0; i < count * parts; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

template <class T, class S>
T converted(S value) {
  if constexpr (std::is_same_v<S, Half>) {
    return static_cast<T>(to_float(value));
  } else if constexpr (std::is_same_v<S, std::complex<float>> || std::is_same_v<S, std::complex<double>>) {
    return static_cast<T>(value.real());
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
void convert_elements(NumpyType type, const std::byte* elements, std::size_t count, T* target) {
  visit_type(type, [&](auto element) {
    using S = decltype(element);
    const S* from = reinterpret_cast<const S*>(elements);
    for (std::size_t i = 0; i < count; ++i) target[i] = converted<T>(from[i]);
  });
}

}  // namespace

std::uint64_t stored_bytes(const StoredTensor& tensor) {
  const std::int64_t per_byte = elements_per_byte(tensor.encoding);
  if (per_byte > 1)
    return static_cast<std::uint64_t>(tensor.stored_count / per_byte + (tensor.stored_count % per_byte != 0 ? 1 : 0));
  return saturated_product(static_cast<std::uint64_t>(tensor.stored_count), stored_size(tensor));
}

std::string_view compared_type_name(const StoredTensor& tensor) {
  return tensor.encoding == Encoding::int4 ? "torch.int4" : compared_type_name(tensor.type);
}

StoredTensor stored_tensor(const NpyHeader& header) {
  StoredTensor tensor;
  tensor.type = header.type;
  tensor.big_endian = header.big_endian;
  tensor.shape = header.shape;
  tensor.begin = header.data_begin;
  tensor.count = static_cast<std::int64_t>(header.data_bytes / size_of(header.type));
  tensor.stored_count = tensor.count;
  if (header.fortran_order && header.shape.size() > 1 && tensor.count > 0) {
    std::int64_t stride = 1;
    for (const std::int64_t size : header.shape) {
      tensor.axes.push_back({.size = size, .block = size, .stride = stride});
      stride *= size;
    }
  }
  return tensor;
}

StoredTensor imaginary_part(const StoredTensor& tensor) {
  const bool narrow = tensor.type == NumpyType::complex64;
  return half_elements(tensor, Part::second, narrow ? NumpyType::float32 : NumpyType::float64);
}

StoredTensor half_elements(const StoredTensor& tensor, Part which, NumpyType type) {
  StoredTensor part = tensor;
  part.type = type;
  if (which == Part::second) part.begin += size_of(type);
  // The other half lies between any two, and none behind the last.
  part.stored_count = tensor.stored_count == 0 ? 0 : 2 * tensor.stored_count - 1;
  if (part.axes.empty()) {
    part.axes.push_back({.size = tensor.count, .block = std::max<std::int64_t>(tensor.count, 1), .stride = 1});
  }
  for (StoredAxis& axis : part.axes) {
    axis.outer_stride *= 2;
    axis.stride *= 2;
  }
  return part;
}

void decode(const StoredTensor& tensor, const std::byte* source, std::size_t first, std::size_t count,
            std::byte* target) {
  const auto byte_at = [&](std::size_t i) { return std::to_integer<std::uint8_t>(source[i]); };
  switch (tensor.encoding) {
    case Encoding::plain: {
      const std::size_t size = size_of(tensor.type);
      if (target != source + first * size) std::memmove(target, source + first * size, count * size);
      if (tensor.big_endian) reverse_bytes(tensor.type, target, count);
      if (tensor.type == NumpyType::boolean) {
        for (std::size_t i = 0; i < count; ++i) target[i] = std::byte{target[i] != std::byte{0}};
      }
      return;
    }
    case Encoding::bfloat16: {
      auto* values = reinterpret_cast<std::uint32_t*>(target);
      for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, source + (first + i) * 2, sizeof(bits));
        values[i] = static_cast<std::uint32_t>(bits) << 16;
      }
      return;
    }
    case Encoding::float8_e4m3fn:
    case Encoding::float8_e5m2:
    case Encoding::hifloat8: {
      const std::array<double, 256>& table = byte_values(tensor.encoding);
      auto* values = reinterpret_cast<double*>(target);
      for (std::size_t i = 0; i < count; ++i) values[i] = table[byte_at(first + i)];
      return;
    }
    case Encoding::int4:
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = first + i;
        const int nibble = (byte_at(at / 2) >> (at % 2 * 4)) & 0xF;
        target[i] = static_cast<std::byte>(nibble < 8 ? nibble : nibble - 16);
      }
      return;
    case Encoding::bit:
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = first + i;
        target[i] = static_cast<std::byte>((byte_at(at / 8) >> (7 - at % 8)) & 1);
      }
      return;
  }
}

void load_doubles(NumpyType type, const std::byte* elements, std::size_t count, double* target) {
  convert_elements(type, elements, count, target);
}

// The parts of the file that were read last. Blocks are aligned to the tensor's begin, and their size is a multiple of
// every element's.
class TensorReader::BlockCache {
 public:
  BlockCache(const InputFile& file, const StoredTensor& tensor)
      : file_(file), begin_(tensor.begin), bytes_(stored_bytes(tensor)) {
    // Along the last axis an element of every block is wanted before the next of any.
    const StoredAxis& last = tensor.axes.back();
    const auto jumps = static_cast<std::size_t>((last.size + last.block - 1) / last.block);
    block_bytes_ = std::clamp(std::bit_floor(cache_bytes / 2 / jumps), smallest_block, largest_block);
    blocks_.resize(std::min<std::uint64_t>(cache_bytes / block_bytes_, bytes_ / block_bytes_ + 1));
  }

  std::size_t block_bytes() const { return block_bytes_; }

  // The bytes from `offset` of the tensor to the end of their block.
  std::span<const std::byte> at(std::uint64_t offset) {
    const std::uint64_t number = offset / block_bytes_;
    if (number != last_number_) {
      last_number_ = number;
      last_ = &find(number);
    }
    return std::span(*last_).subspan(offset % block_bytes_);
  }

 private:
  const std::vector<std::byte>& find(std::uint64_t number) {
    const auto known = places_.find(number);
    if (known != places_.end()) return blocks_[known->second].bytes;
    Block& victim = blocks_[oldest_];
    if (victim.used) places_.erase(victim.number);
    victim.used = false;
    const std::uint64_t offset = number * block_bytes_;
    victim.bytes.resize(std::min<std::uint64_t>(block_bytes_, bytes_ - offset));
    file_.read_at(begin_ + offset, victim.bytes);
    victim.number = number;
    victim.used = true;
    places_.emplace(number, oldest_);
    oldest_ = (oldest_ + 1) % blocks_.size();
    return victim.bytes;
  }

  struct Block {
    std::uint64_t number = 0;
    bool used = false;
    std::vector<std::byte> bytes;
  };

  const InputFile& file_;
  std::uint64_t begin_;
  std::uint64_t bytes_;
  std::size_t block_bytes_ = 0;
  std::vector<Block> blocks_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::size_t oldest_ = 0;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  const std::vector<std::byte>* last_ = nullptr;
};

TensorReader::TensorReader(const InputFile& file, const StoredTensor& tensor) : file_(file), tensor_(tensor) {
  if (!tensor_.axes.empty() && tensor_.count > 0) cache_ = std::make_unique<BlockCache>(file, tensor_);
}

TensorReader::~TensorReader() = default;

std::size_t TensorReader::read(std::span<std::byte> target) {
  const auto fits = static_cast<std::int64_t>(target.size() / size_of(tensor_.type));
  const std::int64_t count = std::min(fits, tensor_.count - next_);
  if (count <= 0) return 0;
  try {
    if (cache_) {
      gather(count, target.data());
    } else {
      load(count, target.data());
    }
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
  next_ += count;
  return static_cast<std::size_t>(count);
}

std::size_t TensorReader::read(std::span<float> target) { return read_as(target); }
std::size_t TensorReader::read(std::span<double> target) { return read_as(target); }

template <class T>
std::size_t TensorReader::read_as(std::span<T> target) {
  constexpr NumpyType same = std::is_same_v<T, float> ? NumpyType::float32 : NumpyType::float64;
  if (tensor_.type == same) return read(std::as_writable_bytes(target));
  std::size_t done = 0;
  while (done < target.size()) {
    const std::size_t wanted = std::min(elements_at_once, target.size() - done);
    converted_.resize(wanted * size_of(tensor_.type));
    const std::size_t count = read(std::span<std::byte>(converted_));
    if (count == 0) break;
    convert_elements(tensor_.type, converted_.data(), count, target.data() + done);
    done += count;
  }
  return done;
}

void TensorReader::load(std::int64_t count, std::byte* target) {
  if (tensor_.encoding == Encoding::plain) {
    const std::size_t size = size_of(tensor_.type);
    const auto bytes = static_cast<std::size_t>(count) * size;
    file_.read_at(tensor_.begin + static_cast<std::uint64_t>(next_) * size, {target, bytes});
    decode(tensor_, target, 0, static_cast<std::size_t>(count), target);
    return;
  }
  const std::int64_t per_byte = elements_per_byte(tensor_.encoding);
  const auto size = static_cast<std::int64_t>(stored_size(tensor_));
  const std::int64_t first_byte = next_ / per_byte * size;
  const std::int64_t end_byte = (next_ + count + per_byte - 1) / per_byte * size;
  raw_.resize(static_cast<std::size_t>(end_byte - first_byte));
  file_.read_at(tensor_.begin + static_cast<std::uint64_t>(first_byte), raw_);
  decode(tensor_, raw_.data(), static_cast<std::size_t>(next_ % per_byte), static_cast<std::size_t>(count), target);
}

void TensorReader::gather(std::int64_t count, std::byte* target) {
  const std::size_t rank = tensor_.axes.size();
  std::vector<std::int64_t> index(rank);
  std::int64_t rest = next_;
  for (std::size_t k = rank; k-- > 0;) {
    index[k] = rest % tensor_.axes[k].size;
    rest /= tensor_.axes[k].size;
  }
  const auto offset_along = [&](std::size_t k, std::int64_t i) {
    const StoredAxis& axis = tensor_.axes[k];
    return i / axis.block * axis.outer_stride + i % axis.block * axis.stride;
  };
  const std::int64_t per_byte = elements_per_byte(tensor_.encoding);
  const auto stored = static_cast<std::int64_t>(stored_size(tensor_));
  const std::size_t size = size_of(tensor_.type);
  const StoredAxis& last = tensor_.axes.back();
  while (count > 0) {
    std::int64_t row = 0;  // where the elements along the last axis begin
    for (std::size_t k = 0; k + 1 < rank; ++k) row += offset_along(k, index[k]);
    std::int64_t& i = index.back();
    while (i < last.size && count > 0) {
      const std::int64_t element = row + offset_along(rank - 1, i);
      const std::span<const std::byte> bytes = cache_->at(static_cast<std::uint64_t>(element / per_byte * stored));
      std::int64_t run = 1;
      if (last.stride == 1) {
        const std::int64_t in_cache = static_cast<std::int64_t>(bytes.size()) / stored * per_byte - element % per_byte;
        run = std::min({last.block - i % last.block, last.size - i, count, in_cache});
      }
      decode(tensor_, bytes.data(), static_cast<std::size_t>(element % per_byte), static_cast<std::size_t>(run),
             target);
      target += static_cast<std::size_t>(run) * size;
      i += run;
      count -= run;
    }
    for (std::size_t k = rank - 1; k > 0 && index[k] == tensor_.axes[k].size; --k) {
      index[k] = 0;
      ++index[k - 1];
    }
  }
}

}  // namespace msrun
