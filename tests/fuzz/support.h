// The input of a fuzz target as its reader takes it: as an unnamed file in memory, or piece by piece.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

namespace msrun {

class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (::write(descriptor_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// Gives the bytes in pieces of the size that is asked for, and from the end on none.
class InputPieces {
 public:
  InputPieces(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  std::size_t operator()(std::span<char> target) {
    const std::size_t count = std::min(target.size(), rest_.size());
    if (count > 0) std::memcpy(target.data(), rest_.data(), count);
    rest_ = rest_.subspan(count);
    return count;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace msrun
