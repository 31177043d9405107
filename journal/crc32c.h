// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of the journal.
#pragma once

#include <cstdint>
#include <string_view>

namespace msrun::journal {

// The CRC-32C of `bytes`. With `previous`, the CRC-32C of some earlier bytes, it is that of the earlier bytes followed
// by these.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous = 0);

}  // namespace msrun::journal
