// Access to the bytes of a journal: the few operations of the operating system that the reader and the writer need,
// behind small interfaces so that a reader also takes bytes from memory and tests can make any single operation fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace msrun::journal {

// Bytes to read from any position.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // What messages call it; for a file, its path.
  virtual std::string name() const = 0;
  virtual std::uint64_t size() const = 0;
  // Fills `to` with up to `count` bytes from `offset` on and returns how many; fewer only at the end. Throws Error.
  virtual std::size_t read_at(std::uint64_t offset, char* to, std::size_t count) const = 0;
};

// A file that grows at its end. Every method throws WriteError when the operating system refuses. The destructor closes
// the file and tells nobody if that fails.
class File : public Source {
 public:
  // Writes the first part of `bytes` (not empty) at the end of the file and returns how many bytes that was, at
  // least 1. A file that was removed, moved or replaced meanwhile is refused with ENOENT, one that somebody else has
  // cut with ESTALE; so they are by truncate() and close().
  virtual std::size_t append(std::string_view bytes) = 0;
  // Brings what was written to the storage device, and the file's name with it.
  virtual void sync() = 0;
  // Cuts the file to `size` bytes, which is at most its size.
  virtual void truncate(std::uint64_t size) = 0;
  // Closes the file before the destructor does; some file systems report only then that a write has failed. No other
  // call may follow.
  virtual void close() {}
};

// A source over bytes of the caller, which must outlive it.
class MemorySource : public Source {
 public:
  explicit MemorySource(std::string_view bytes, std::string name = "memory") : bytes_(bytes), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, char* to, std::size_t count) const override;

 private:
  std::string_view bytes_;
  std::string name_;
};

// Opens a regular file for reading, without a lock. Throws Error. Messages call it by `name`, its path if that is
// empty.
std::unique_ptr<Source> open_source(const std::filesystem::path& path, const std::string& name = {});

// Files for a writer. They hold an exclusive lock (flock(2)) until they are closed in this process and in every child
// that inherited them; Locked is thrown if another open file has it, naming the process (journal/holder.h). On a file
// system without locks they work without one.

// Creates a file, mode 0666 less the umask. Throws WriteError, with EEXIST if there is one of that name.
std::unique_ptr<File> create_file(const std::filesystem::path& path);
// Opens an existing regular file; NotAJournal for a symbolic link, behind which another file may have been put. Throws
// WriteError.
std::unique_ptr<File> open_file(const std::filesystem::path& path);

}  // namespace msrun::journal
