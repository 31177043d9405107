// What the journal's tests share: a file in memory, and journals built frame by frame.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "journal/file.h"
#include "journal/reader.h"
#include "journal/writer.h"
#include "tests/support/temporary_directory.h"

namespace msrun::journal::testing {

using msrun::testing::read_file;
using msrun::testing::TemporaryDirectory;
using msrun::testing::write_file;

// Keeps its bytes in a string of the test, which outlives it.
class MemoryFile : public File {
 public:
  explicit MemoryFile(std::string& bytes) : bytes_(bytes) {}
  std::string name() const override { return "memory"; }
  std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, char* to, std::size_t count) const override {
    return MemorySource(bytes_).read_at(offset, to, count);
  }
  std::size_t append(std::string_view bytes) override {
    bytes_.append(bytes);
    return bytes.size();
  }
  void sync() override {}
  void truncate(std::uint64_t size) override { bytes_.resize(size); }

 private:
  std::string& bytes_;
};

using Records = std::vector<std::string>;

struct Contents {
  Recovery recovery;
  Records records;
};

inline Contents read_all(const Source& source) {
  Contents contents;
  contents.recovery = read(source, [&](std::string_view record) { contents.records.emplace_back(record); });
  return contents;
}
inline Contents read_all(std::string_view bytes) { return read_all(MemorySource(bytes)); }
inline Contents read_journal(const std::filesystem::path& path) { return read_all(*open_source(path)); }

// Every byte of a journal is in its header, in a good frame, damaged, or torn.
inline void expect_clean(const Recovery& recovery) {
  EXPECT_FALSE(recovery.torn_tail);
  EXPECT_EQ(recovery.torn_bytes, 0U);
  EXPECT_EQ(recovery.damaged_bytes, 0U);
  EXPECT_EQ(recovery.damaged_regions, 0U);
  EXPECT_EQ(recovery.missing_frames, 0U);
  EXPECT_EQ(recovery.repeated_frames, 0U);
  EXPECT_EQ(recovery.displaced_frames, 0U);
}

// A journal and where its frames lie: frame i is [ends[i], ends[i + 1]); ends[0] is the end of the file header.
struct Built {
  std::string bytes;
  std::vector<std::uint64_t> ends;
  std::vector<Records> frames;

  // The records of all frames but those from `first` to before `last`.
  Records without(std::size_t first, std::size_t last) const {
    Records records;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (i < first || i >= last) records.insert(records.end(), frames[i].begin(), frames[i].end());
    }
    return records;
  }
  Records all() const { return without(0, 0); }
  // The bytes of frame i.
  std::string frame(std::size_t i) const { return bytes.substr(ends[i], ends[i + 1] - ends[i]); }
  // The file with these frames in this order.
  std::string with(const std::vector<std::size_t>& order) const {
    std::string file = bytes.substr(0, ends[0]);
    for (const std::size_t i : order) file += frame(i);
    return file;
  }
  Records before(std::size_t frame) const { return without(frame, frames.size()); }
};

inline Built build(std::vector<Records> frames, std::string_view metadata = "{\"dump\":\"f00d\"}") {
  Built built;
  Writer writer = Writer::create(std::make_unique<MemoryFile>(built.bytes), metadata);
  built.ends.push_back(built.bytes.size());
  for (const Records& records : frames) {
    for (const std::string& record : records) writer.append(record);
    writer.flush();
    built.ends.push_back(built.bytes.size());
  }
  writer.close();
  built.frames = std::move(frames);
  return built;
}

// Six frames of a few records: text that compresses, bytes that do not, an empty record.
inline Built small_journal() {
  std::vector<Records> frames;
  std::uint32_t state = 12345;
  for (int frame = 0; frame < 6; ++frame) {
    Records records;
    for (int i = 0; i < 4; ++i) {
      std::string noise;
      for (int byte = 0; byte < 5 * i; ++byte) {
        state = state * 1664525 + 1013904223;
        noise.push_back(static_cast<char>(static_cast<unsigned char>(state >> 24)));
      }
      records.push_back("frame " + std::to_string(frame) + " record " + std::to_string(i) + noise);
    }
    records.emplace_back();
    frames.push_back(std::move(records));
  }
  return build(std::move(frames));
}

}  // namespace msrun::journal::testing
