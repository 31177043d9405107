// Finds the good frames of a journal, whatever lies between them. The reader delivers what it finds; the writer asks it
// whether a tail may be cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "journal/file.h"
#include "journal/format.h"

struct ZSTD_DCtx_s;

namespace msrun::journal {

// A good frame: header and payload checksums hold, the payload decompresses to what the header says and its records add
// up to it.
struct Frame {
  std::uint64_t begin = 0;     // offset of its header
  std::uint64_t end = 0;       // offset of the first byte behind it
  std::uint32_t records = 0;   // how many records `content` holds
  std::uint64_t sequence = 0;  // frames that were written before this one; 0 before version 3
  std::string_view content;    // the records with their length prefixes; valid until the next find()
};

// Looks at the bytes that the source had when the scanner was made. In memory are at most one compressed and one
// uncompressed frame.
class FrameScanner {
 public:
  // `source` must outlive the scanner. `version` and `file_checksum` are those of the file's header.
  FrameScanner(const Source& source, std::uint32_t file_checksum, std::uint32_t version);
  FrameScanner(const FrameScanner&) = delete;
  FrameScanner& operator=(const FrameScanner&) = delete;
  ~FrameScanner();

  std::uint64_t size() const { return size_; }

  // The first good frame that begins at `offset` or later; nothing if there is none up to the end. Throws Error when
  // the source cannot be read.
  std::optional<Frame> find(std::uint64_t offset);

 private:
  std::string_view bytes_at(std::uint64_t offset, std::size_t count);
  std::optional<std::uint64_t> find_marker(std::uint64_t offset);
  std::optional<FrameHeader> header_at(std::uint64_t offset);
  std::optional<std::string_view> content_of(std::uint64_t offset, const FrameHeader& header);

  const Source& source_;
  std::uint32_t file_checksum_;
  std::uint32_t version_;
  std::size_t header_size_;  // of a frame
  std::uint64_t size_;
  std::vector<char> window_;  // holds the bytes [window_begin_, window_begin_ + window_size_) of the source
  std::uint64_t window_begin_ = 0;
  std::size_t window_size_ = 0;
  std::vector<char> content_;
  struct FreeContext {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_DCtx_s, FreeContext> zstd_;
};

}  // namespace msrun::journal
