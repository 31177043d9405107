// ZIP archives with stored entries, as torch writes them: large archives (zip64) too, no compression, no encryption.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/io/files/file.h"

namespace msrun {

struct ZipEntry {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t header_offset = 0;
  std::uint32_t checksum = 0;  // CRC-32 of the bytes; torch can be told to leave it wrong, so that readers ignore it
  bool stored = false;         // neither compressed nor encrypted
};

class ZipReader {
 public:
  // Reads the directory. Throws SkipError if file is no such archive or points beyond its end. file must outlive it.
  explicit ZipReader(const InputFile& file);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  // The last entry of that name; null if there is none.
  const ZipEntry* find(std::string_view name) const;
  // Where the bytes of an entry begin; all of them lie inside the file. SkipError if the entry is not stored.
  std::uint64_t data_begin(const ZipEntry& entry) const;
  // Whether the bytes of an entry are those of its checksum; reads all of them.
  bool is_sound(const ZipEntry& entry) const;

 private:
  [[noreturn]] void damaged(std::string_view what) const;

  const InputFile& file_;
  std::vector<ZipEntry> entries_;
};

class ZipWriter {
 public:
  // Sizes and offsets from `large` on go into zip64 fields; tests make it small.
  explicit ZipWriter(OutputFile& file, std::uint64_t large = 0xFFFFFFFF) : file_(file), large_(large) {}

  // The bytes begin at a multiple of 64 in the file.
  void add(const std::string& name, std::span<const std::byte> bytes);
  // Writes the directory; nothing may be added after it.
  void finish();

 private:
  OutputFile& file_;
  std::uint64_t large_;
  std::uint64_t offset_ = 0;
  std::vector<ZipEntry> entries_;
};

// CRC-32 as ZIP has it, of bytes that follow those of which `before` is the checksum.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace msrun
