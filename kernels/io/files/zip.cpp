#include "kernels/io/files/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/base/error.h"

namespace msrun {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read and written in the byte order of the host");

constexpr std::uint32_t local_signature = 0x04034B50;
constexpr std::uint32_t directory_signature = 0x02014B50;
constexpr std::uint32_t end_signature = 0x06054B50;
constexpr std::uint32_t end64_signature = 0x06064B50;
constexpr std::uint32_t locator_signature = 0x07064B50;

constexpr std::size_t local_size = 30;
constexpr std::size_t directory_entry_size = 46;
constexpr std::size_t end_size = 22;
constexpr std::size_t end64_size = 56;
constexpr std::size_t locator_size = 20;
constexpr std::size_t max_comment = 0xFFFF;
constexpr std::uint64_t max_directory = std::uint64_t{64} << 20;

constexpr std::uint16_t zip64_field = 0x0001;
constexpr std::uint16_t padding_field = 0x4246;  // "FB", torch's
constexpr std::uint32_t in_zip64_field = 0xFFFFFFFF;
constexpr std::size_t alignment = 64;
constexpr std::uint16_t version_needed = 45;  // zip64
constexpr std::uint16_t names_are_utf8 = 0x0800;
constexpr std::uint16_t encrypted = 0x0001;

template <class T>
T load(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <class T>
void store(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.data(), bytes.size());
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t count = 0;
};

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // zlib begins anew where there is no address
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

ZipReader::ZipReader(const InputFile& file) : file_(file) {
  const std::uint64_t file_size = file.size();
  if (file_size < end_size) damaged("it is too short");
  // The end record comes last, but for a comment of unknown length.
  const std::size_t tail_size = std::min<std::uint64_t>(file_size, locator_size + end_size + max_comment);
  const std::uint64_t tail_begin = file_size - tail_size;
  std::vector<std::byte> tail(tail_size);
  file.read_at(tail_begin, tail);
  std::size_t end = tail_size - end_size;
  while (load<std::uint32_t>(tail, end) != end_signature ||
         end + end_size + load<std::uint16_t>(tail, end + 20) > tail_size) {
    if (end == 0) damaged("its directory is missing");
    --end;
  }
  Directory directory{load<std::uint32_t>(tail, end + 16), load<std::uint32_t>(tail, end + 12),
                      load<std::uint16_t>(tail, end + 10)};
  if (end >= locator_size && load<std::uint32_t>(tail, end - locator_size) == locator_signature) {
    const auto end64_begin = load<std::uint64_t>(tail, end - locator_size + 8);
    std::array<std::byte, end64_size> end64{};
    if (file_size < end64_size || end64_begin > file_size - end64_size) damaged("its directory is missing");
    file.read_at(end64_begin, end64);
    if (load<std::uint32_t>(end64, 0) != end64_signature) damaged("its directory is missing");
    directory = {load<std::uint64_t>(end64, 48), load<std::uint64_t>(end64, 40), load<std::uint64_t>(end64, 32)};
  }
  if (directory.offset > file_size || directory.size > file_size - directory.offset) damaged("it is truncated");
  if (directory.size > max_directory || directory.count > directory.size / directory_entry_size) {
    damaged("its directory is damaged");
  }

  std::vector<std::byte> bytes(directory.size);
  file.read_at(directory.offset, bytes);
  std::span<const std::byte> rest = bytes;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    if (rest.size() < directory_entry_size || load<std::uint32_t>(rest, 0) != directory_signature) {
      damaged("its directory is damaged");
    }
    const std::size_t name_size = load<std::uint16_t>(rest, 28);
    const std::size_t extra_size = load<std::uint16_t>(rest, 30);
    const std::size_t comment_size = load<std::uint16_t>(rest, 32);
    if (rest.size() < directory_entry_size + name_size + extra_size + comment_size) damaged("its directory is damaged");
    ZipEntry entry;
    entry.stored = load<std::uint16_t>(rest, 10) == 0 && (load<std::uint16_t>(rest, 8) & encrypted) == 0;
    entry.checksum = load<std::uint32_t>(rest, 16);
    entry.stored_size = load<std::uint32_t>(rest, 20);
    entry.size = load<std::uint32_t>(rest, 24);
    entry.header_offset = load<std::uint32_t>(rest, 42);
    entry.name.assign(reinterpret_cast<const char*>(rest.data()) + directory_entry_size, name_size);
    // Extra fields: type, size, data. The zip64 one holds, in this order, the values that did not fit above.
    std::span<const std::byte> extra = rest.subspan(directory_entry_size + name_size, extra_size);
    while (extra.size() >= 4) {
      const std::size_t field_size = load<std::uint16_t>(extra, 2);
      if (field_size > extra.size() - 4) damaged("its directory is damaged");
      if (load<std::uint16_t>(extra, 0) == zip64_field) {
        std::span<const std::byte> field = extra.subspan(4, field_size);
        for (std::uint64_t* value : {&entry.size, &entry.stored_size, &entry.header_offset}) {
          if (*value != in_zip64_field) continue;
          if (field.size() < sizeof(*value)) damaged("its directory is damaged");
          *value = load<std::uint64_t>(field, 0);
          field = field.subspan(sizeof(*value));
        }
      }
      extra = extra.subspan(4 + field_size);
    }
    entries_.push_back(std::move(entry));
    rest = rest.subspan(directory_entry_size + name_size + extra_size + comment_size);
  }
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto found =
      std::find_if(entries_.rbegin(), entries_.rend(), [&](const ZipEntry& e) { return e.name == name; });
  return found == entries_.rend() ? nullptr : &*found;
}

std::uint64_t ZipReader::data_begin(const ZipEntry& entry) const {
  if (!entry.stored || entry.size != entry.stored_size)
    damaged("its entry " + entry.name + " is compressed or encrypted");
  std::array<std::byte, local_size> header{};
  if (file_.size() < local_size || entry.header_offset > file_.size() - local_size) damaged("it is truncated");
  file_.read_at(entry.header_offset, header);
  if (load<std::uint32_t>(header, 0) != local_signature)
    damaged("the header of its entry " + entry.name + " is missing");
  const std::uint64_t begin =
      entry.header_offset + local_size + load<std::uint16_t>(header, 26) + load<std::uint16_t>(header, 28);
  if (begin > file_.size() || entry.size > file_.size() - begin) damaged("it is truncated");
  return begin;
}

bool ZipReader::is_sound(const ZipEntry& entry) const {
  constexpr std::uint64_t piece = std::uint64_t{1} << 20;
  const std::uint64_t begin = data_begin(entry);
  std::vector<std::byte> bytes;
  std::uint32_t checksum = 0;
  for (std::uint64_t done = 0; done < entry.size; done += bytes.size()) {
    bytes.resize(std::min(piece, entry.size - done));
    file_.read_at(begin + done, bytes);
    checksum = crc32(bytes, checksum);
  }
  return checksum == entry.checksum;
}

void ZipReader::damaged(std::string_view what) const {
  throw SkipError("The file " + file_.path() + " is no readable ZIP archive: " + std::string(what) + ".");
}

void ZipWriter::add(const std::string& name, std::span<const std::byte> bytes) {
  ZipEntry entry{name, bytes.size(), bytes.size(), offset_, crc32(bytes), true};
  const bool zip64 = entry.size >= large_;
  const auto short_size = static_cast<std::uint32_t>(zip64 ? in_zip64_field : entry.size);
  std::string extra;
  if (zip64) {
    store(extra, zip64_field);
    store(extra, std::uint16_t{16});
    store(extra, entry.size);
    store(extra, entry.stored_size);
  }
  const std::uint64_t unpadded = offset_ + local_size + name.size() + extra.size() + 4;
  const auto padding = static_cast<std::uint16_t>((alignment - unpadded % alignment) % alignment);
  store(extra, padding_field);
  store(extra, padding);
  extra.append(padding, 'Z');

  std::string header;
  store(header, local_signature);
  store(header, version_needed);
  store(header, names_are_utf8);
  header.append(6, '\0');  // stored; no time, no date
  store(header, entry.checksum);
  store(header, short_size);
  store(header, short_size);
  store(header, static_cast<std::uint16_t>(name.size()));
  store(header, static_cast<std::uint16_t>(extra.size()));
  header += name;
  header += extra;
  file_.write(std::as_bytes(std::span(header)));
  file_.write(bytes);
  offset_ += header.size() + bytes.size();
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  const std::uint64_t begin = offset_;
  std::string out;
  for (const ZipEntry& entry : entries_) {
    std::string extra;
    const auto shorten = [&](std::uint64_t value) {
      if (value < large_) return static_cast<std::uint32_t>(value);
      store(extra, value);
      return in_zip64_field;
    };
    const std::uint32_t short_size = shorten(entry.size);
    const std::uint32_t short_stored_size = shorten(entry.stored_size);
    const std::uint32_t short_offset = shorten(entry.header_offset);
    store(out, directory_signature);
    store(out, version_needed);
    store(out, version_needed);
    store(out, names_are_utf8);
    out.append(6, '\0');
    store(out, entry.checksum);
    store(out, short_stored_size);
    store(out, short_size);
    store(out, static_cast<std::uint16_t>(entry.name.size()));
    store(out, static_cast<std::uint16_t>(extra.empty() ? 0 : extra.size() + 4));
    out.append(10, '\0');  // no comment, first disk, no attributes
    store(out, short_offset);
    out += entry.name;
    if (!extra.empty()) {
      store(out, zip64_field);
      store(out, static_cast<std::uint16_t>(extra.size()));
      out += extra;
    }
  }
  const std::uint64_t size = out.size();
  const std::uint64_t count = entries_.size();
  store(out, end64_signature);
  store(out, std::uint64_t{end64_size - 12});
  store(out, version_needed);
  store(out, version_needed);
  store(out, std::uint64_t{0});  // disks
  store(out, count);
  store(out, count);
  store(out, size);
  store(out, begin);
  store(out, locator_signature);
  store(out, std::uint32_t{0});
  store(out, begin + size);
  store(out, std::uint32_t{1});
  store(out, end_signature);
  store(out, std::uint32_t{0});
  store(out, static_cast<std::uint16_t>(count));
  store(out, static_cast<std::uint16_t>(count));
  store(out, static_cast<std::uint32_t>(size));
  store(out, static_cast<std::uint32_t>(std::min<std::uint64_t>(begin, in_zip64_field)));
  store(out, std::uint16_t{0});
  file_.write(std::as_bytes(std::span(out)));
}

}  // namespace msrun
