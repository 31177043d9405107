// Foreign bytes into the journal's reader. The first byte of an input says what the rest is: a whole file; the frames
// of a file with a good header; or the payload or the content of a frame whose checksums hold, which chance would never
// get by.
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "journal/crc32c.h"
#include "journal/error.h"
#include "journal/file.h"
#include "journal/format.h"
#include "journal/reader.h"

namespace {

using namespace msrun::journal;

std::string frame(const std::string& file_header, FrameHeader header, std::string_view payload) {
  header.compressed_size = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = crc32c(payload);
  std::string bytes(frame_header_size, '\0');
  encode_frame_header(header, load_u32(&file_header[file_header.size() - checksum_size]), bytes.data());
  return bytes.append(payload);
}

// The two counts of the frame header come from the input, too: small, so that they are right now and then.
std::string wrap(std::uint8_t kind, std::string_view input) {
  const std::string file_header = encode_file_header("metadata");
  if (kind == 0) return std::string(input);
  if (kind == 1 || input.size() < 2) return file_header + std::string(input);
  FrameHeader header;
  header.records = static_cast<std::uint8_t>(input[0]);
  header.uncompressed_size = static_cast<std::uint8_t>(input[1]);
  input.remove_prefix(2);
  if (kind == 2) return file_header + frame(file_header, header, input);
  header.uncompressed_size = static_cast<std::uint32_t>(input.size());
  std::string payload(ZSTD_compressBound(input.size()), '\0');
  payload.resize(ZSTD_compress(payload.data(), payload.size(), input.data(), input.size(), 1));
  return file_header + frame(file_header, header, payload);
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes = wrap(data[0] % 4, std::string(data + 1, data + size));
  std::uint64_t records = 0;
  std::uint64_t length = 0;
  try {
    const Recovery recovery = read(MemorySource(bytes), [&](std::string_view record) {
      ++records;
      length += record.size();
      require(record.empty() || record.front() == record[0]);
    });
    require(recovery.records == records);
    require(recovery.valid_size + recovery.torn_bytes == bytes.size());
    require(recovery.torn_tail == (recovery.torn_bytes > 0));
    require((recovery.damaged_regions > 0) == (recovery.damaged_bytes > 0));
    require(recovery.frames > 0 || records == 0);
  } catch (const Error&) {
    require(records == 0);
  }
  return 0;
}
