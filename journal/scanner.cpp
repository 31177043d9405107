#include "journal/scanner.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "journal/crc32c.h"

namespace msrun::journal {
namespace {

constexpr std::size_t read_size = std::size_t{1} << 20;
constexpr std::size_t scan_size = std::size_t{64} << 10;

bool records_add_up(std::string_view content, std::uint32_t records) {
  std::uint32_t seen = 0;
  while (!content.empty()) {
    if (content.size() < record_prefix_size) return false;
    const std::size_t length = load_u32(content.data());
    if (length > content.size() - record_prefix_size) return false;
    content.remove_prefix(record_prefix_size + length);
    ++seen;
  }
  return seen == records;
}

}  // namespace

void FrameScanner::FreeContext::operator()(ZSTD_DCtx_s* context) const noexcept { ZSTD_freeDCtx(context); }

FrameScanner::FrameScanner(const Source& source, std::uint32_t file_checksum, std::uint32_t version)
    : source_(source),
      file_checksum_(file_checksum),
      version_(version),
      header_size_(frame_header_size_of(version)),
      size_(source.size()),
      zstd_(ZSTD_createDCtx()) {
  if (zstd_ == nullptr) throw std::bad_alloc();
}

FrameScanner::~FrameScanner() = default;

std::optional<Frame> FrameScanner::find(std::uint64_t offset) {
  while (const std::optional<std::uint64_t> begin = find_marker(offset)) {
    const std::optional<FrameHeader> header = header_at(*begin);
    if (!header) {
      offset = *begin + 1;
      continue;
    }
    const std::uint64_t end = *begin + header_size_ + header->compressed_size;
    if (const std::optional<std::string_view> content = content_of(*begin, *header)) {
      return Frame{
          .begin = *begin, .end = end, .records = header->records, .sequence = header->sequence, .content = *content};
    }
    // The header is good, so it tells where its frame ends, and what the payload holds must not be taken for frames.
    // Only if nothing begins there were bytes lost or put in, and the next frame may be anywhere.
    const bool end_holds = end == size_ || header_at(end);
    offset = end_holds ? end : *begin + header_size_;
  }
  return std::nullopt;
}

// Up to `count` bytes from `offset` on, fewer only at the end of the source; valid until the next call.
std::string_view FrameScanner::bytes_at(std::uint64_t offset, std::size_t count) {
  if (offset >= size_) return {};
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, size_ - offset));
  const bool begins_inside = offset >= window_begin_ && offset <= window_begin_ + window_size_;
  std::size_t have = begins_inside ? static_cast<std::size_t>(window_begin_ + window_size_ - offset) : 0;
  if (have < count) {
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(std::max(count, read_size), size_ - offset));
    if (have > 0) std::memmove(window_.data(), window_.data() + (offset - window_begin_), have);
    window_begin_ = offset;
    window_size_ = have;
    if (window_.size() < wanted) window_.resize(wanted);
    window_size_ += source_.read_at(offset + have, window_.data() + have, wanted - have);
    have = window_size_;
  }
  return {window_.data() + (offset - window_begin_), std::min(count, have)};
}

std::optional<std::uint64_t> FrameScanner::find_marker(std::uint64_t offset) {
  std::array<char, 4> marker{};
  store_u32(marker.data(), frame_marker);
  const std::string_view wanted(marker.data(), marker.size());
  if (bytes_at(offset, wanted.size()) == wanted) return offset;
  while (true) {
    const std::string_view bytes = bytes_at(offset, scan_size);
    if (bytes.size() < wanted.size()) return std::nullopt;
    const std::size_t place = bytes.find(wanted);
    if (place != std::string_view::npos) return offset + place;
    offset += bytes.size() - (wanted.size() - 1);
  }
}

std::optional<FrameHeader> FrameScanner::header_at(std::uint64_t offset) {
  return decode_frame_header(bytes_at(offset, header_size_), file_checksum_, version_);
}

std::optional<std::string_view> FrameScanner::content_of(std::uint64_t offset, const FrameHeader& header) {
  if (header.compressed_size > size_ - offset - header_size_) return std::nullopt;
  const std::string_view payload = bytes_at(offset + header_size_, header.compressed_size);
  if (payload.size() < header.compressed_size || crc32c(payload) != header.payload_checksum) return std::nullopt;
  if (content_.size() < header.uncompressed_size) content_.resize(header.uncompressed_size);
  const std::size_t written =
      ZSTD_decompressDCtx(zstd_.get(), content_.data(), header.uncompressed_size, payload.data(), payload.size());
  if (ZSTD_isError(written) != 0 || written != header.uncompressed_size) return std::nullopt;
  const std::string_view content(content_.data(), written);
  if (!records_add_up(content, header.records)) return std::nullopt;
  return content;
}

}  // namespace msrun::journal
