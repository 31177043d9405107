// Foreign bytes into the journal's reader. The first byte of an input says what the rest is: a whole file; the frames
// of a file with a good header; the payload or the content of a frame whose checksums hold, which chance would never
// get by; or the numbers of good frames, in the order in which they lie.
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
#include "tests/fuzz/target.h"

namespace {

using namespace msrun::journal;

std::string frame(const std::string& file_header, FrameHeader header, std::string_view payload) {
  header.compressed_size = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = crc32c(payload);
  std::string bytes(frame_header_size, '\0');
  encode_frame_header(header, load_u32(&file_header[file_header.size() - checksum_size]), bytes.data());
  return bytes.append(payload);
}

std::string compressed(std::string_view content) {
  std::string payload(ZSTD_compressBound(content.size()), '\0');
  payload.resize(ZSTD_compress(payload.data(), payload.size(), content.data(), content.size(), 1));
  return payload;
}

// One good frame for each byte, which is its number and, as its only record, its content; 255 is damage instead.
std::string numbered_frames(const std::string& file_header, std::string_view numbers) {
  std::string file = file_header;
  for (const char number : numbers) {
    const auto sequence = static_cast<std::uint8_t>(number);
    if (sequence == 255) {
      file += "damage";
      continue;
    }
    std::string content(record_prefix_size, '\0');
    store_u32(content.data(), 1);
    content += number;
    FrameHeader header;
    header.records = 1;
    header.uncompressed_size = static_cast<std::uint32_t>(content.size());
    header.sequence = sequence;
    file += frame(file_header, header, compressed(content));
  }
  return file;
}

// The two counts of the frame header come from the input, too: small, so that they are right now and then.
std::string journal_of(std::uint8_t kind, std::string_view input) {
  const std::string file_header = encode_file_header("metadata");
  if (kind == 0) return std::string(input);
  if (kind == 1 || input.size() < 2) return file_header + std::string(input);
  FrameHeader header;
  header.records = static_cast<std::uint8_t>(input[0]);
  header.uncompressed_size = static_cast<std::uint8_t>(input[1]);
  input.remove_prefix(2);
  if (kind == 4) return numbered_frames(file_header, input);
  if (kind == 2) return file_header + frame(file_header, header, input);
  header.uncompressed_size = static_cast<std::uint32_t>(input.size());
  return file_header + frame(file_header, header, compressed(input));
}

}  // namespace

FUZZ_TARGET(journal_fuzz) {
  if (size == 0) return 0;
  const std::uint8_t kind = data[0] % 5;
  const std::string bytes = journal_of(kind, std::string(data + 1, data + size));
  int last = -1;  // number of a frame
  std::uint64_t records = 0;
  std::uint64_t length = 0;
  try {
    const Recovery recovery = read(MemorySource(bytes), [&](std::string_view record) {
      ++records;
      length += record.size();
      if (kind != 4) return;
      // Each once and in the order of their numbers, wherever they lie.
      msrun::fuzz_require(static_cast<std::uint8_t>(record.at(0)) > last);
      last = static_cast<std::uint8_t>(record[0]);
    });
    msrun::fuzz_require(recovery.records == records);
    msrun::fuzz_require(recovery.valid_size + recovery.torn_bytes == bytes.size());
    msrun::fuzz_require(recovery.torn_tail == (recovery.torn_bytes > 0));
    msrun::fuzz_require((recovery.damaged_regions > 0) == (recovery.damaged_bytes > 0));
    msrun::fuzz_require(recovery.frames > 0 || records == 0);
    if (kind == 4) msrun::fuzz_require(recovery.next_sequence == static_cast<std::uint64_t>(last) + 1);
    if (kind == 4) msrun::fuzz_require(recovery.frames + recovery.missing_frames == recovery.next_sequence);
  } catch (const Error&) {
    msrun::fuzz_require(records == 0);
  }
  return 0;
}
