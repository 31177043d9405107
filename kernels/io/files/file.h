// Files on disk, for the readers and writers of the formats that other people's programs write and read: dump.json,
// .npy and .pt. What is not a regular, readable file of a sensible size is refused here, in the words of
// acc_check_pytorch.md 13.3. Characters of the path are the caller's to judge.
//
// In this folder: files, paths, zip and CSV as bytes and text. What the bytes mean is known in the folders beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "kernels/base/unique_fd.h"
#include "kernels/io/files/folder.h"

namespace msrun {

// One plain sentence that names the file and the cause. Readers turn it into a UserError or a SkipError.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::uint64_t max_input_bytes = std::uint64_t{10} << 30;  // exclusive
// For files that are read in parts.
inline constexpr std::uint64_t any_size = ~std::uint64_t{0};

class InputFile {
 public:
  // Throws FileError if path is no readable regular file of less than `limit` bytes. Symbolic links are followed.
  explicit InputFile(const std::string& path, std::uint64_t limit = max_input_bytes);
  // An open descriptor of such a file; it is closed with this. path is for messages.
  InputFile(const std::string& path, int descriptor, std::uint64_t limit = any_size);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_.get(); }

  // The next bytes of the file, 0 at its end.
  std::size_t read(std::span<char> target);
  // Fills target from offset; FileError if the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> target) const;

 private:
  void check(std::uint64_t limit);

  std::string path_;
  UniqueFd descriptor_;
  std::uint64_t size_ = 0;
};

// What is left of an open file. Throws FileError.
std::string rest_of(InputFile& file);

// A file that close() makes or replaces, whole: unless that is reached nothing is left of it. A link of its name is
// replaced itself.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);  // FileError if it cannot be created
  OutputFile(const Folder& folder, const std::string& name);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() = default;

  void write(std::span<const std::byte> bytes);
  void close();

 private:
  [[noreturn]] void fail(int error) const;

  std::string path_;
  PendingFile file_;
};

}  // namespace msrun
