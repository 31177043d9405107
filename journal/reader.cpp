#include "journal/reader.h"

#include <algorithm>
#include <array>

#include "journal/crc32c.h"
#include "journal/error.h"
#include "journal/format.h"
#include "journal/scanner.h"

namespace msrun::journal {
namespace {

void deliver(const Frame& frame, const OnRecord& on_record) {
  std::string_view rest = frame.content;
  while (!rest.empty()) {
    const std::size_t length = load_u32(rest.data());
    on_record(rest.substr(record_prefix_size, length));
    rest.remove_prefix(record_prefix_size + length);
  }
}

}  // namespace

FileHeader read_header(const Source& source) {
  const std::string name = source.name();
  std::array<char, file_prefix_size> buffer{};
  const std::string_view prefix(buffer.data(), source.read_at(0, buffer.data(), buffer.size()));
  if (prefix.empty()) throw EmptyFile(name + " is empty: no journal was begun in it");
  if (!prefix.starts_with(magic.substr(0, prefix.size()))) {
    throw NotAJournal(name + " is not a journal: it does not begin with " + std::string(magic));
  }
  if (prefix.size() < file_prefix_size) throw DamagedHeader(name + " is damaged: it ends inside its header");
  const std::uint32_t version = load_u32(&buffer[8]);
  if (version > format_version) {
    throw NewerVersion(name + " has journal format " + std::to_string(version) + "; this program reads up to " +
                       std::to_string(format_version));
  }
  if (version == 0) throw DamagedHeader(name + " is damaged: there is no journal format 0");

  const std::size_t length = load_u32(&buffer[12]);
  if (length > max_metadata_size || length + file_prefix_size + checksum_size > source.size()) {
    throw DamagedHeader(name + " is damaged: it ends inside its header");
  }
  std::string rest(length + checksum_size, '\0');
  if (source.read_at(file_prefix_size, rest.data(), rest.size()) != rest.size()) {
    throw DamagedHeader(name + " is damaged: it ends inside its header");
  }
  const std::uint32_t checksum = crc32c({rest.data(), length}, crc32c(prefix));
  if (load_u32(&rest[length]) != checksum) throw DamagedHeader(name + " is damaged: the checksum of its header fails");
  rest.resize(length);
  return {.version = version,
          .metadata = std::move(rest),
          .size = file_prefix_size + length + checksum_size,
          .checksum = checksum};
}

Recovery read(const Source& source, const OnRecord& on_record) {
  FileHeader header = read_header(source);
  FrameScanner scanner(source, header.checksum);
  Recovery recovery;
  recovery.version = header.version;
  recovery.metadata = std::move(header.metadata);
  recovery.valid_size = header.size;
  recovery.uncompressed_bytes = header.size;
  while (const std::optional<Frame> frame = scanner.find(recovery.valid_size)) {
    if (frame->begin != recovery.valid_size) {
      recovery.damaged_bytes += frame->begin - recovery.valid_size;
      ++recovery.damaged_regions;
    }
    deliver(*frame, on_record);
    recovery.valid_size = frame->end;
    recovery.records += frame->records;
    recovery.uncompressed_bytes += frame->content.size();
    ++recovery.frames;
  }
  recovery.torn_bytes = scanner.size() - recovery.valid_size;
  recovery.torn_tail = recovery.torn_bytes > 0;
  return recovery;
}

Recovery read(const std::filesystem::path& path, const OnRecord& on_record) {
  return read(*open_source(path), on_record);
}

}  // namespace msrun::journal
