#include "tools/torchair_compare/packed_scales.h"

#include <array>
#include <bit>
#include <cmath>
#include <span>

namespace msrun::torchair {
namespace {

constexpr std::uint64_t scale_mark = std::uint64_t{1} << 46;
constexpr std::uint64_t scale_offset = std::uint64_t{0x1FF} << 37;
constexpr std::uint64_t scale_bits = 0xFFFFFFFF;
// One scale for each column of a product.
constexpr std::int64_t most_scales = std::int64_t{1} << 20;

bool is_whole(const StoredTensor& tensor) {
  const bool wide = tensor.type == NumpyType::uint64 || tensor.type == NumpyType::int64;
  return wide && tensor.encoding == Encoding::plain && !tensor.big_endian;
}

// Counts and indices are far below what the bits of such a number are as an integer.
bool is_plausible(std::uint64_t element) {
  const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(element & scale_bits));
  return std::abs(number) > 0x1p-64F && std::abs(number) < 0x1p64F;
}

}  // namespace

std::optional<PackedScales> packed_scales(const InputFile& file, const StoredTensor& tensor) {
  if (!is_whole(tensor) || tensor.count == 0 || tensor.count > most_scales) return std::nullopt;
  PackedScales packed;
  packed.marked = packed.plausible = true;
  std::array<std::uint64_t, 4096> elements{};
  TensorReader reader(file, tensor);
  while (const std::size_t count = reader.read(std::as_writable_bytes(std::span(elements)))) {
    for (const std::uint64_t element : std::span(elements).first(count)) {
      if ((element & ~(scale_mark | scale_offset | scale_bits)) != 0) return std::nullopt;
      if ((element & scale_mark) == 0) packed.marked = false;
      if (!is_plausible(element)) packed.plausible = false;
    }
  }
  packed.scales = half_elements(tensor, Part::first, NumpyType::float32);
  packed.rest = half_elements(tensor, Part::second, NumpyType::int32);
  return packed;
}

}  // namespace msrun::torchair
