#include "journal/crc32c.h"

#include <array>
#include <cstddef>

#include "journal/format.h"

namespace msrun::journal {
namespace {

constexpr std::size_t slice_count = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, slice_count>;

// tables[k][b] is the effect of byte b when k more bytes follow it in the same step.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < slice_count; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables crc_tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous) {
  std::uint32_t crc = ~previous;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= slice_count; at += slice_count, left -= slice_count) {
    const std::uint32_t low = load_u32(at) ^ crc;
    const std::uint32_t high = load_u32(at + 4);
    crc = crc_tables[7][low & 0xFF] ^ crc_tables[6][(low >> 8) & 0xFF] ^ crc_tables[5][(low >> 16) & 0xFF] ^
          crc_tables[4][low >> 24] ^ crc_tables[3][high & 0xFF] ^ crc_tables[2][(high >> 8) & 0xFF] ^
          crc_tables[1][(high >> 16) & 0xFF] ^ crc_tables[0][high >> 24];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ crc_tables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xFF];
  return ~crc;
}

}  // namespace msrun::journal
