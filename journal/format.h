// The journal: an append-only log of byte records that survives the death of its writer at any instant. This folder
// knows how records become checksummed, compressed frames in a file and how they are recovered from a file that was
// torn or damaged; what the records mean is the caller's business.
//
// This header holds the constants and the layout of the file; format.md shows the same for readers without the code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace msrun::journal {

// File header: magic, u32 version, u32 length of the metadata, metadata, u32 checksum of all these.
inline constexpr std::string_view magic = "MSRUNJNL";
// Since version 3 the frames are numbered. What version 2 says is that the records begin as those of msrun do today
// (runner/results/format.md), so that programs which know only version 1 refuse the file and do not misread it; its
// bytes are those of version 1.
inline constexpr std::uint32_t format_version = 3;
inline constexpr std::uint32_t numbered_version = 3;
inline constexpr std::size_t file_prefix_size = 16;
inline constexpr std::size_t checksum_size = 4;
inline constexpr std::size_t max_metadata_size = std::size_t{16} << 20;

// Frame header: u32 marker and the fields of FrameHeader, then u32 checksum.
inline constexpr std::uint32_t frame_marker = 0x8B464AF7;  // on disk F7 4A 46 8B
inline constexpr std::size_t frame_header_size = 32;
inline constexpr std::size_t unnumbered_frame_header_size = 24;
// The largest payload of a frame, compressed and uncompressed alike. A header that claims more is damaged.
inline constexpr std::size_t max_frame_size = std::size_t{64} << 20;

// Record, inside the uncompressed payload: u32 length, bytes.
inline constexpr std::size_t record_prefix_size = 4;
// The largest record. It leaves room for what zstd adds to bytes that it cannot compress (1/256 and a few bytes).
inline constexpr std::size_t max_record_size = std::size_t{63} << 20;

struct FrameHeader {
  std::uint32_t compressed_size = 0;    // bytes of the zstd frame that follows the header
  std::uint32_t uncompressed_size = 0;  // bytes of all its records with their length prefixes
  std::uint32_t records = 0;            // at least 1
  std::uint32_t payload_checksum = 0;   // CRC-32C of the compressed bytes
  std::uint64_t sequence = 0;           // frames that were written before this one; 0 before version 3
};

// Bytes of a frame header in a file of that version.
constexpr std::size_t frame_header_size_of(std::uint32_t version) {
  return version < numbered_version ? unnumbered_frame_header_size : frame_header_size;
}

// The whole file header with its checksum (the last four bytes). Throws Error if `metadata` is over max_metadata_size.
std::string encode_file_header(std::string_view metadata);

// Writes frame_header_size_of(version) bytes to `to`. `file_checksum` is the checksum of the file header: the one of
// the frame header continues it, so that a frame of another journal is never taken for one of this file.
void encode_frame_header(const FrameHeader& header, std::uint32_t file_checksum, char* to,
                         std::uint32_t version = format_version);

// The frame header that `bytes` begins with; nothing if `bytes` is too short, the marker or the checksum is wrong, or
// the fields break the limits above.
std::optional<FrameHeader> decode_frame_header(std::string_view bytes, std::uint32_t file_checksum,
                                               std::uint32_t version = format_version);

// Integers are little-endian on disk whatever the host is.
inline void store_u32(char* to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

inline std::uint32_t load_u32(const char* from) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(from[i])} << (8 * i);
  return value;
}

inline void store_u64(char* to, std::uint64_t value) {
  store_u32(to, static_cast<std::uint32_t>(value));
  store_u32(to + 4, static_cast<std::uint32_t>(value >> 32));
}

inline std::uint64_t load_u64(const char* from) { return load_u32(from) | std::uint64_t{load_u32(from + 4)} << 32; }

}  // namespace msrun::journal
