#include "journal/format.h"

#include "journal/crc32c.h"
#include "journal/error.h"

namespace msrun::journal {

std::string encode_file_header(std::string_view metadata) {
  if (metadata.size() > max_metadata_size) {
    throw Error("journal metadata of " + std::to_string(metadata.size()) + " bytes is over the limit of " +
                std::to_string(max_metadata_size));
  }
  std::string header(file_prefix_size + metadata.size() + checksum_size, '\0');
  magic.copy(header.data(), magic.size());
  store_u32(&header[8], format_version);
  store_u32(&header[12], static_cast<std::uint32_t>(metadata.size()));
  metadata.copy(&header[file_prefix_size], metadata.size());
  const std::size_t end = header.size() - checksum_size;
  store_u32(&header[end], crc32c(std::string_view(header).substr(0, end)));
  return header;
}

void encode_frame_header(const FrameHeader& header, std::uint32_t file_checksum, char* to, std::uint32_t version) {
  store_u32(to, frame_marker);
  store_u32(to + 4, header.compressed_size);
  store_u32(to + 8, header.uncompressed_size);
  store_u32(to + 12, header.records);
  store_u32(to + 16, header.payload_checksum);
  if (version >= numbered_version) store_u64(to + 20, header.sequence);
  const std::size_t end = frame_header_size_of(version) - checksum_size;
  store_u32(to + end, crc32c({to, end}, file_checksum));
}

std::optional<FrameHeader> decode_frame_header(std::string_view bytes, std::uint32_t file_checksum,
                                               std::uint32_t version) {
  const std::size_t size = frame_header_size_of(version);
  if (bytes.size() < size || load_u32(bytes.data()) != frame_marker) return std::nullopt;
  const std::size_t end = size - checksum_size;
  if (load_u32(bytes.data() + end) != crc32c(bytes.substr(0, end), file_checksum)) return std::nullopt;
  const FrameHeader header{.compressed_size = load_u32(bytes.data() + 4),
                           .uncompressed_size = load_u32(bytes.data() + 8),
                           .records = load_u32(bytes.data() + 12),
                           .payload_checksum = load_u32(bytes.data() + 16),
                           .sequence = version < numbered_version ? 0 : load_u64(bytes.data() + 20)};
  const bool sizes_hold = header.compressed_size <= max_frame_size && header.uncompressed_size <= max_frame_size &&
                          header.records > 0 && header.records <= header.uncompressed_size / record_prefix_size;
  if (!sizes_hold) return std::nullopt;
  return header;
}

}  // namespace msrun::journal
