#include "journal/reader.h"

#include <algorithm>
#include <array>
#include <vector>

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

// One reading of a journal. Records are handed over in the order in which they were written: as they come while the
// numbers of the frames follow each other; from the first gap on, what follows is first found and put in order.
class Reading {
 public:
  Reading(const Source& source, const OnRecord& on_record)
      : header_(read_header(source)),
        numbered_(header_.version >= numbered_version),
        scanner_(source, header_.checksum, header_.version),
        on_record_(on_record) {}

  Recovery read() {
    recovery_.version = header_.version;
    recovery_.metadata = std::move(header_.metadata);
    recovery_.valid_size = header_.size;
    recovery_.uncompressed_bytes = header_.size;
    while (const std::optional<Frame> frame = scanner_.find(recovery_.valid_size)) {
      if (frame->begin != recovery_.valid_size) {
        recovery_.damaged_bytes += frame->begin - recovery_.valid_size;
        ++recovery_.damaged_regions;
      }
      recovery_.valid_size = frame->end;
      see(*frame);
    }
    recovery_.torn_bytes = scanner_.size() - recovery_.valid_size;
    recovery_.torn_tail = recovery_.torn_bytes > 0;
    take_waiting();
    if (numbered_) recovery_.missing_frames = recovery_.next_sequence - recovery_.frames;
    return std::move(recovery_);
  }

 private:
  // A good frame behind a gap.
  struct Waiting {
    std::uint64_t sequence = 0;
    std::uint64_t begin = 0;
  };

  void see(const Frame& frame) {
    if (!numbered_) return take(frame);
    if (frame.sequence < read_up_to_) {
      ++recovery_.repeated_frames;
    } else if (waiting_.empty() && frame.sequence == read_up_to_) {
      ++read_up_to_;
      take(frame);
    } else {
      if (frame.sequence < recovery_.next_sequence) ++recovery_.displaced_frames;
      waiting_.push_back({frame.sequence, frame.begin});
    }
    recovery_.next_sequence = std::max(recovery_.next_sequence, frame.sequence + 1);
  }

  void take(const Frame& frame) {
    deliver(frame, on_record_);
    recovery_.records += frame.records;
    recovery_.uncompressed_bytes += frame.content.size();
    ++recovery_.frames;
  }

  void take_waiting() {
    std::ranges::stable_sort(waiting_, {}, &Waiting::sequence);
    const Waiting* before = nullptr;
    for (const Waiting& waiting : waiting_) {
      if (before != nullptr && before->sequence == waiting.sequence) {
        ++recovery_.repeated_frames;
        --recovery_.displaced_frames;
        continue;
      }
      before = &waiting;
      if (const std::optional<Frame> frame = scanner_.find(waiting.begin)) take(*frame);
    }
  }

  FileHeader header_;
  bool numbered_;
  FrameScanner scanner_;
  const OnRecord& on_record_;
  Recovery recovery_;
  std::uint64_t read_up_to_ = 0;  // every number below it was read
  std::vector<Waiting> waiting_;
};

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

Recovery read(const Source& source, const OnRecord& on_record) { return Reading(source, on_record).read(); }

Recovery read(const std::filesystem::path& path, const OnRecord& on_record) {
  return read(*open_source(path), on_record);
}

}  // namespace msrun::journal
