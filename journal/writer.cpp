#include "journal/writer.h"

#include <zstd.h>

#include <array>
#include <new>
#include <system_error>
#include <utility>

#include "journal/crc32c.h"
#include "journal/error.h"
#include "journal/format.h"
#include "journal/reader.h"
#include "journal/scanner.h"

namespace msrun::journal {
namespace {

// As small as level 1 makes the records of a run, at half the time.
constexpr int compression_level = -1;

static_assert(ZSTD_COMPRESSBOUND(max_record_size + record_prefix_size) <= max_frame_size,
              "a record of any bytes must fit into a frame");

}  // namespace

void Writer::FreeContext::operator()(ZSTD_CCtx_s* context) const noexcept { ZSTD_freeCCtx(context); }

Writer::Writer(std::unique_ptr<File> file, std::uint32_t file_checksum, std::uint32_t version, std::uint64_t end)
    : file_(std::move(file)), file_checksum_(file_checksum), version_(version), end_(end), zstd_(ZSTD_createCCtx()) {
  if (zstd_ == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, compression_level);
}

Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

Writer Writer::create(const std::filesystem::path& path, std::string_view metadata) {
  const std::string header = encode_file_header(metadata);
  std::unique_ptr<File> file = create_file(path);
  try {
    return begin(std::move(file), header);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    throw;
  }
}

Writer Writer::create(std::unique_ptr<File> file, std::string_view metadata) {
  return begin(std::move(file), encode_file_header(metadata));
}

Writer Writer::begin(std::unique_ptr<File> file, const std::string& header) {
  Writer writer(std::move(file), load_u32(&header[header.size() - checksum_size]), format_version, 0);
  writer.write_all(header);
  return writer;
}

Writer Writer::resume(const std::filesystem::path& path, std::uint64_t valid_size,
                      std::optional<std::uint64_t> next_sequence) {
  return resume(open_file(path), valid_size, next_sequence);
}

Writer Writer::resume(std::unique_ptr<File> file, std::uint64_t valid_size,
                      std::optional<std::uint64_t> next_sequence) {
  const FileHeader header = read_header(*file);
  const std::uint64_t size = file->size();
  if (valid_size < header.size || valid_size > size) {
    throw Error(file->name() + " cannot be continued at byte " + std::to_string(valid_size) + ": it has " +
                std::to_string(size) + " bytes");
  }
  if (size > valid_size) {
    // Another run may have written between the reading and our lock.
    if (FrameScanner(*file, header.checksum, header.version).find(valid_size)) {
      throw Error(file->name() + " has grown since it was read: another run has written to it");
    }
    file->truncate(valid_size);
  }
  if (!next_sequence) next_sequence = read(*file, [](std::string_view) {}).next_sequence;
  Writer writer(std::move(file), header.checksum, header.version, valid_size);
  writer.next_sequence_ = *next_sequence;
  return writer;
}

void Writer::append(std::string_view record) {
  if (record.size() > max_record_size) {
    throw Error(file_->name() + ": a record of " + std::to_string(record.size()) + " bytes is over the limit of " +
                std::to_string(max_record_size));
  }
  const std::size_t needed = record_prefix_size + record.size();
  if (batch_.size() + needed > batch_size) flush();
  batch_.reserve(batch_.size() + needed);
  std::array<char, record_prefix_size> prefix{};
  store_u32(prefix.data(), static_cast<std::uint32_t>(record.size()));
  batch_.append(prefix.data(), prefix.size());
  batch_.append(record);
  ++batch_records_;
}

void Writer::flush() {
  if (batch_.empty()) return;
  if (torn_) cut();
  const std::string_view frame = encode_batch();
  write_all(frame);
  ++next_sequence_;
  // What one huge record needed is not kept.
  if (batch_.capacity() > 2 * batch_size) {
    batch_ = {};
    frame_ = {};
  }
  batch_.clear();
  batch_records_ = 0;
}

// The batch as a frame in frame_.
std::string_view Writer::encode_batch() {
  const std::size_t header_size = frame_header_size_of(version_);
  const std::size_t needed = header_size + ZSTD_compressBound(batch_.size());
  if (frame_.size() < needed) frame_.resize(needed);
  char* const payload = frame_.data() + header_size;
  const std::size_t compressed =
      ZSTD_compress2(zstd_.get(), payload, frame_.size() - header_size, batch_.data(), batch_.size());
  // With room for the bound only memory can be short.
  if (ZSTD_isError(compressed) != 0) throw std::bad_alloc();
  encode_frame_header({.compressed_size = static_cast<std::uint32_t>(compressed),
                       .uncompressed_size = static_cast<std::uint32_t>(batch_.size()),
                       .records = batch_records_,
                       .payload_checksum = crc32c({payload, compressed}),
                       .sequence = next_sequence_},
                      file_checksum_, frame_.data(), version_);
  return {frame_.data(), header_size + compressed};
}

// Appends all of `bytes` or, as far as the file can be cut, nothing.
void Writer::write_all(std::string_view bytes) {
  torn_ = true;
  try {
    for (std::string_view rest = bytes; !rest.empty();) rest.remove_prefix(file_->append(rest));
  } catch (...) {
    try {
      cut();
    } catch (const Error&) {
      // The first failure is the one to report; torn_ stays set.
    }
    throw;
  }
  torn_ = false;
  end_ += bytes.size();
}

void Writer::cut() {
  file_->truncate(end_);
  torn_ = false;
}

void Writer::sync() { file_->sync(); }

void Writer::close() {
  flush();
  sync();
  file_.reset();
}

void Writer::close_unsynced() {
  flush();
  const std::unique_ptr<File> file = std::move(file_);
  file->close();
}

void Writer::close_in_child() noexcept {
  file_.reset();
  batch_.clear();
  batch_records_ = 0;
}

}  // namespace msrun::journal
