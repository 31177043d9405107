// Writes a journal: collects records into a batch and appends each batch to the file as one frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file.h"

struct ZSTD_CCtx_s;

namespace msrun::journal {

// The only writer of its file, held by one lock, used by one thread. What is guaranteed for a record:
//   after append()  nothing: it is in memory;
//   after flush()   it survives the death of this process;
//   after sync()    what was flushed before survives a power loss;
//   after close()   both; after close_unsynced() it survives the death of this process.
// A call that throws WriteError has lost nothing: the batch is kept, earlier frames stand, and the same call may be
// made again, for instance when there is space on the disk again. One thing cannot be mended: when sync() fails the
// system may have dropped what it had not yet stored, and a later sync() does not vouch for what was flushed before the
// failed one.
//
// The destructor closes the file and drops what was not flushed, as the death of the process would; it never throws. So
// a forked child may leave its copy to the destructor, but until that copy is gone (close_in_child) it keeps the lock,
// even beyond the death of the parent.
class Writer {
 public:
  // A batch is flushed by append() before it would grow beyond this many uncompressed bytes.
  static constexpr std::size_t batch_size = std::size_t{8} << 20;

  // Creates the file and writes its header, which survives the death of this process when this returns; the first
  // sync() makes it survive a power loss. Throws WriteError (with EEXIST if the file exists), leaving no file behind
  // that was not there; Locked if another writer was faster.
  static Writer create(const std::filesystem::path& path, std::string_view metadata);
  // Begins a journal in a file that was just made and is empty, with the guarantees of create() of a path.
  static Writer create(std::unique_ptr<File> file, std::string_view metadata);

  // Opens an existing journal to go on at `valid_size`, which read() has given; cuts what lies behind it. Throws Locked
  // while another writer has the file, Error if the file is not what was read (shorter, or with a good frame behind
  // `valid_size`, which is never cut), what read_header() throws, and WriteError.
  // The next frame gets the number `next_sequence`, which read() has given as well; without it the file is searched.
  static Writer resume(const std::filesystem::path& path, std::uint64_t valid_size,
                       std::optional<std::uint64_t> next_sequence = {});
  static Writer resume(std::unique_ptr<File> file, std::uint64_t valid_size,
                       std::optional<std::uint64_t> next_sequence = {});

  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();

  // Adds a record to the batch; the bytes are copied. Flushes before that when the batch would exceed batch_size. When
  // it throws the record was not added: WriteError from that flush, Error if the record is over max_record_size.
  void append(std::string_view record);

  // Writes the batch as one frame; nothing if it is empty. When the write fails midway the file is cut back to the
  // frames before (now, or at the next flush() if the cut fails too) and WriteError is thrown.
  void flush();

  // Brings all flushed frames to the storage device (fdatasync).
  void sync();

  // flush(), sync(), and the file is closed and unlocked. Unless it threw, no other call may follow.
  void close();
  // Does what close() does but for the sync(). Once flush() was done no other call may follow, even if this threw.
  void close_unsynced();

  // For a forked child: closes the child's copy of the file and forgets the batch. The parent's writer, its lock and
  // the file are untouched. No other call may follow.
  void close_in_child() noexcept;

  // The end of the last frame: the valid_size that read() would find now.
  std::uint64_t size() const { return end_; }

 private:
  Writer(std::unique_ptr<File> file, std::uint32_t file_checksum, std::uint32_t version, std::uint64_t end);
  static Writer begin(std::unique_ptr<File> file, const std::string& header);
  std::string_view encode_batch();
  void write_all(std::string_view bytes);
  void cut();

  std::unique_ptr<File> file_;
  std::uint32_t file_checksum_;
  std::uint32_t version_;  // of the file, which stays what it was begun with
  std::uint64_t end_;
  std::uint64_t next_sequence_ = 0;  // of the next frame
  bool torn_ = false;                // part of a frame may lie behind end_
  std::string batch_;
  std::uint32_t batch_records_ = 0;
  std::vector<char> frame_;
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> zstd_;
};

}  // namespace msrun::journal
