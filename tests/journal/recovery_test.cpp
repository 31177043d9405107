// Journals that were cut, flipped, spliced or forged: what is read must have been written, and only the frames that
// were hit may be missing.
#include <gtest/gtest.h>

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "journal/crc32c.h"
#include "journal/error.h"
#include "journal/format.h"
#include "journal/scanner.h"
#include "tests/journal/support.h"

namespace msrun::journal::testing {
namespace {

TEST(Recovery, EveryCutKeepsAllWholeFramesAndCanBeContinued) {
  const Built built = small_journal();
  const std::size_t frames = built.frames.size();
  for (std::uint64_t size = built.ends[frames - 3]; size < built.bytes.size(); ++size) {
    SCOPED_TRACE(size);
    std::string bytes = built.bytes.substr(0, size);
    std::size_t whole = 0;
    while (built.ends[whole + 1] <= size) ++whole;

    const Contents cut = read_all(bytes);
    ASSERT_EQ(cut.records, built.before(whole));
    ASSERT_EQ(cut.recovery.valid_size, built.ends[whole]);
    ASSERT_EQ(cut.recovery.torn_bytes, size - built.ends[whole]);
    ASSERT_EQ(cut.recovery.torn_tail, size != built.ends[whole]);
    ASSERT_EQ(cut.recovery.damaged_regions, 0U);
    ASSERT_EQ(cut.recovery.frames, whole);

    Writer writer = Writer::resume(std::make_unique<MemoryFile>(bytes), cut.recovery.valid_size);
    writer.append("after the cut");
    writer.close();
    const Contents resumed = read_all(bytes);
    Records expected = built.before(whole);
    expected.emplace_back("after the cut");
    ASSERT_EQ(resumed.records, expected);
    expect_clean(resumed.recovery);
  }
}

TEST(Recovery, EveryFlippedByteCostsOnlyItsFrame) {
  const Built built = small_journal();
  for (std::size_t place = 0; place < built.bytes.size(); ++place) {
    for (const int bit : {static_cast<int>(place % 8), 7}) {
      SCOPED_TRACE(std::to_string(place) + " bit " + std::to_string(bit));
      std::string bytes = built.bytes;
      bytes[place] = static_cast<char>(static_cast<unsigned char>(bytes[place]) ^ (1U << bit));
      if (place < built.ends[0]) {
        ASSERT_THROW(read_all(bytes), Error);
        continue;
      }
      std::size_t hit = 0;
      while (built.ends[hit + 1] <= place) ++hit;
      const std::uint64_t lost = built.ends[hit + 1] - built.ends[hit];
      const bool last = hit + 1 == built.frames.size();

      const Contents contents = read_all(bytes);
      ASSERT_EQ(contents.records, built.without(hit, hit + 1));
      ASSERT_EQ(contents.recovery.damaged_bytes, last ? 0 : lost);
      ASSERT_EQ(contents.recovery.damaged_regions, last ? 0U : 1U);
      ASSERT_EQ(contents.recovery.torn_bytes, last ? lost : 0);
      ASSERT_EQ(contents.recovery.valid_size, last ? built.ends[hit] : built.bytes.size());
    }
  }
}

TEST(Recovery, GarbagePutInBetweenFramesIsSkipped) {
  const Built built = small_journal();
  std::string garbage = "garbage \xF7\x4A\x46\x8B with a marker";
  garbage += built.bytes.substr(built.ends[0], frame_header_size - 1);
  garbage += "\xF7\x4A";
  for (std::size_t frame = 0; frame < built.frames.size(); ++frame) {
    std::string bytes = built.bytes;
    bytes.insert(built.ends[frame], garbage);
    const Contents contents = read_all(bytes);
    EXPECT_EQ(contents.records, built.all());
    EXPECT_EQ(contents.recovery.damaged_bytes, garbage.size());
    EXPECT_EQ(contents.recovery.damaged_regions, 1U);
    EXPECT_EQ(contents.recovery.valid_size, bytes.size());
  }
  const Contents behind = read_all(built.bytes + garbage);
  EXPECT_EQ(behind.records, built.all());
  EXPECT_EQ(behind.recovery.torn_bytes, garbage.size());
  EXPECT_EQ(behind.recovery.damaged_regions, 0U);
}

TEST(Recovery, BytesPutInOrLostInsideAFrameCostOnlyThatFrame) {
  const Built built = small_journal();
  const std::size_t hit = 2;
  for (std::uint64_t place = built.ends[hit] + 1; place < built.ends[hit + 1]; ++place) {
    SCOPED_TRACE(place);
    std::string longer = built.bytes;
    longer.insert(place, "\xF7\x4A\x46\x8B put in");
    EXPECT_EQ(read_all(longer).records, built.without(hit, hit + 1));
    std::string shorter = built.bytes;
    shorter.erase(place, std::min<std::uint64_t>(7, built.ends[hit + 1] - place));
    EXPECT_EQ(read_all(shorter).records, built.without(hit, hit + 1));
  }
}

TEST(Recovery, SeveralDamagedPlacesAreCountedApart) {
  const Built built = small_journal();
  std::string bytes = built.bytes;
  bytes[built.ends[1]] ^= 1;      // frames 1 and 2: one region
  bytes[built.ends[3] - 1] ^= 1;  //
  bytes[built.ends[4] + 5] ^= 1;  // frame 4: another
  const Contents contents = read_all(bytes);
  Records expected = built.frames[0];
  for (const std::size_t frame : {std::size_t{3}, std::size_t{5}}) {
    expected.insert(expected.end(), built.frames[frame].begin(), built.frames[frame].end());
  }
  EXPECT_EQ(contents.records, expected);
  EXPECT_EQ(contents.recovery.damaged_regions, 2U);
  EXPECT_EQ(contents.recovery.damaged_bytes, built.ends[3] - built.ends[1] + built.ends[5] - built.ends[4]);
}

TEST(Recovery, LongGarbageAndZerosBehindTheEndAreTorn) {
  const Built built = small_journal();
  const std::string zeros(3 << 20, '\0');
  const Contents contents = read_all(built.bytes + zeros);
  EXPECT_EQ(contents.records, built.all());
  EXPECT_EQ(contents.recovery.torn_bytes, zeros.size());
  // A marker at every distance from the end of a read is found.
  const std::string before_last = built.bytes.substr(0, built.ends[5]);
  for (std::size_t gap = (std::size_t{64} << 10) - 8; gap < (std::size_t{64} << 10) + 8; ++gap) {
    const Contents found = read_all(before_last + zeros.substr(0, gap) + built.frame(5));
    EXPECT_EQ(found.recovery.frames, 6U) << gap;
    EXPECT_EQ(found.recovery.damaged_bytes, gap);
  }
}

TEST(Recovery, AFrameOfAnotherJournalIsNotTaken) {
  const Built other = build({{"foreign"}}, "{\"dump\":\"other\"}");
  const Built built = small_journal();
  std::string bytes = built.bytes;
  bytes.insert(built.ends[1], other.bytes.substr(other.ends[0]));
  const Contents contents = read_all(bytes);
  EXPECT_EQ(contents.records, built.all());
  EXPECT_EQ(contents.recovery.damaged_bytes, other.ends[1] - other.ends[0]);
}

TEST(Recovery, AFrameInsideADamagedFrameIsNotTaken) {
  // zstd stores what it cannot compress as it is, so a record can show the bytes of a frame of this very journal.
  const Built inner = build({{"a record that was never written to the outer journal"}});
  std::string noise;
  std::uint32_t state = 7;
  for (int i = 0; i < 4000; ++i) {
    state = state * 1664525 + 1013904223;
    noise.push_back(static_cast<char>(static_cast<unsigned char>(state >> 24)));
  }
  const std::string embedded = inner.bytes.substr(inner.ends[0]);
  Built outer = build({{"first"}, {noise + embedded + noise}, {"third"}});
  ASSERT_NE(outer.bytes.find(embedded), std::string::npos);
  outer.bytes[outer.ends[2] - 1] ^= 1;
  EXPECT_EQ(read_all(outer.bytes).records, (Records{"first", "third"}));
}

// A frame with good checksums, whatever its content.
std::string forge(std::string_view file_header, FrameHeader header, std::string_view payload) {
  header.payload_checksum = crc32c(payload);
  std::string frame(frame_header_size, '\0');
  encode_frame_header(header, load_u32(&file_header[file_header.size() - checksum_size]), frame.data());
  return frame.append(payload);
}

std::string compressed(std::string_view content) {
  std::string payload(ZSTD_compressBound(content.size()), '\0');
  payload.resize(ZSTD_compress(payload.data(), payload.size(), content.data(), content.size(), 1));
  return payload;
}

TEST(Recovery, FramesWithGoodChecksumsAndBadContentAreDamage) {
  const Built built = small_journal();
  const std::string_view file_header = std::string_view(built.bytes).substr(0, built.ends[0]);
  using namespace std::string_view_literals;
  const auto frame = [&](std::uint32_t uncompressed, std::uint32_t records, const std::string& payload,
                         std::uint32_t compressed_size) {
    return forge(file_header,
                 {.compressed_size = compressed_size,
                  .uncompressed_size = uncompressed,
                  .records = records,
                  .payload_checksum = 0},
                 payload);
  };
  const auto of = [&](std::string_view content, std::uint32_t uncompressed, std::uint32_t records) {
    const std::string payload = compressed(content);
    return frame(uncompressed, records, payload, static_cast<std::uint32_t>(payload.size()));
  };
  // The forger can make a good frame: the ones below fail for what they hold.
  EXPECT_EQ(read_all(std::string(file_header) + of("\1\0\0\0x"sv, 5, 1)).records, Records{"x"});

  const std::vector<std::string> bad = {
      of("\1\0\0\0x"sv, 5, 2).substr(0),                                     // more records claimed than there are
      of("\1\0\0\0x\1\0\0\0y"sv, 10, 1),                                     // fewer
      of("\1\0\0\0x"sv, 6, 1),                                               // larger claimed than it is
      of("\1\0\0\0x"sv, 4, 1),                                               // smaller
      of("\2\0\0\0x"sv, 5, 1),                                               // the record goes beyond the content
      of("\xFF\xFF\xFF\xFFx"sv, 5, 1),                                       // far beyond
      of("\1\0\0\0x\0\0\0"sv, 8, 2),                                         // the second has no whole length
      frame(5, 1, "not zstd", 8),                                            // no zstd frame
      frame(5, 1, "", 0),                                                    // nothing
      frame(max_frame_size, 1, compressed("\1\0\0\0x"sv), max_frame_size),   // claims more than the file has
      frame(5, 1, compressed("\1\0\0\0x"sv), max_frame_size + 1),            // over the limit
      frame(max_frame_size + 1, 1, compressed("\1\0\0\0x"sv), 14),           // over the limit uncompressed
      frame(0xFFFFFFFF, 0xFFFFFFFF, compressed("\1\0\0\0x"sv), 0xFFFFFFFF),  // absurd
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    SCOPED_TRACE(i);
    std::string bytes = built.bytes;
    bytes.insert(built.ends[2], bad[i]);
    const Contents contents = read_all(bytes);
    EXPECT_EQ(contents.records, built.all());
    EXPECT_EQ(contents.recovery.damaged_bytes, bad[i].size());
    const Contents at_end = read_all(built.bytes + bad[i]);
    EXPECT_EQ(at_end.records, built.all());
    EXPECT_EQ(at_end.recovery.valid_size, built.bytes.size());
  }
}

TEST(Sequence, ADroppedFrameIsSeen) {
  const Built built = small_journal();
  for (std::size_t dropped = 0; dropped + 1 < built.frames.size(); ++dropped) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < built.frames.size(); ++i) {
      if (i != dropped) order.push_back(i);
    }
    const Contents contents = read_all(built.with(order));
    EXPECT_EQ(contents.records, built.without(dropped, dropped + 1)) << dropped;
    EXPECT_EQ(contents.recovery.missing_frames, 1U);
    EXPECT_EQ(contents.recovery.next_sequence, 6U);
    EXPECT_EQ(contents.recovery.damaged_regions, 0U);
    EXPECT_EQ(contents.recovery.displaced_frames + contents.recovery.repeated_frames, 0U);
  }
}

TEST(Sequence, ARepeatedFrameIsReadOnce) {
  const Built built = small_journal();
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0, 0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5, 0}, {0, 1, 2, 3, 4, 5, 5}}) {
    const Contents contents = read_all(built.with(order));
    EXPECT_EQ(contents.records, built.all());
    EXPECT_EQ(contents.recovery.repeated_frames, 1U);
    EXPECT_EQ(contents.recovery.frames, 6U);
    EXPECT_EQ(contents.recovery.missing_frames + contents.recovery.displaced_frames, 0U);
  }
  // Behind a gap as well.
  const Contents behind = read_all(built.with({0, 2, 3, 2, 4, 5, 4}));
  EXPECT_EQ(behind.records, built.without(1, 2));
  EXPECT_EQ(behind.recovery.repeated_frames, 2U);
  EXPECT_EQ(behind.recovery.missing_frames, 1U);
  EXPECT_EQ(behind.recovery.displaced_frames, 0U);
}

// The last of several results of a call counts, so the order in which they were written is the one to read them in.
TEST(Sequence, FramesOutOfTheirPlaceAreReadInOrder) {
  const Built built = small_journal();
  struct Case {
    std::vector<std::size_t> order;
    std::uint64_t displaced;
  };
  for (const auto& [order, displaced] :
       {Case{{1, 0, 2, 3, 4, 5}, 1}, Case{{0, 1, 2, 3, 5, 4}, 1}, Case{{5, 0, 1, 2, 3, 4}, 5},
        Case{{1, 2, 3, 4, 5, 0}, 1}, Case{{5, 4, 3, 2, 1, 0}, 5}}) {
    const Contents contents = read_all(built.with(order));
    EXPECT_EQ(contents.records, built.all());
    EXPECT_EQ(contents.recovery.displaced_frames, displaced);
    EXPECT_EQ(contents.recovery.repeated_frames + contents.recovery.missing_frames, 0U);
    EXPECT_EQ(contents.recovery.valid_size, built.bytes.size());
  }
}

TEST(Sequence, GoesOnBehindAGap) {
  const Built built = small_journal();
  for (const bool told : {false, true}) {
    std::string bytes = built.with({0, 1, 2, 4});
    const Recovery recovery = read_all(bytes).recovery;
    EXPECT_EQ(recovery.next_sequence, 5U);
    Writer writer = told ? Writer::resume(std::make_unique<MemoryFile>(bytes), recovery.valid_size, 5)
                         : Writer::resume(std::make_unique<MemoryFile>(bytes), recovery.valid_size);
    writer.append("after the gap");
    writer.close();
    const Contents contents = read_all(bytes);
    EXPECT_EQ(contents.records.back(), "after the gap");
    EXPECT_EQ(contents.recovery.missing_frames, 1U);
    EXPECT_EQ(contents.recovery.repeated_frames, 0U);
    EXPECT_EQ(contents.recovery.next_sequence, 6U);
  }
}

TEST(Sequence, DamageTellsHowManyFramesAreMissing) {
  const Built built = small_journal();
  std::string bytes = built.bytes;
  bytes[built.ends[1]] ^= 1;
  bytes[built.ends[3] - 1] ^= 1;
  const Recovery recovery = read_all(bytes).recovery;
  EXPECT_EQ(recovery.damaged_regions, 1U);
  EXPECT_EQ(recovery.missing_frames, 2U);
}

// A source that notes the largest piece it was asked for.
class CountingSource : public MemorySource {
 public:
  using MemorySource::MemorySource;
  std::size_t read_at(std::uint64_t offset, char* to, std::size_t count) const override {
    largest = std::max(largest, count);
    return MemorySource::read_at(offset, to, count);
  }
  mutable std::size_t largest = 0;
};

TEST(Recovery, AnOversizedClaimAsksForNoMoreThanTheFileHas) {
  Built built = small_journal();
  const std::string_view file_header = std::string_view(built.bytes).substr(0, built.ends[0]);
  const std::string bytes =
      built.bytes +
      forge(
          file_header,
          {.compressed_size = max_frame_size, .uncompressed_size = max_frame_size, .records = 1, .payload_checksum = 0},
          "short");
  const CountingSource source(bytes);
  EXPECT_EQ(read_all(source).records, built.all());
  EXPECT_LE(source.largest, bytes.size());
}

TEST(Recovery, ReadsInPiecesOfBoundedSize) {
  std::vector<Records> frames;
  std::uint32_t state = 99;
  for (int frame = 0; frame < 40; ++frame) {
    std::string noise;
    for (int i = 0; i < (200 << 10); ++i) {
      state = state * 1664525 + 1013904223;
      noise.push_back(static_cast<char>(static_cast<unsigned char>(state >> 24)));
    }
    frames.push_back({std::move(noise)});
  }
  const Built built = build(std::move(frames));
  const CountingSource source(built.bytes);
  EXPECT_EQ(read_all(source).records, built.all());
  EXPECT_LE(source.largest, std::size_t{1} << 20);
}

// A source that shrinks after its size was asked, as a file does that another process cuts.
class ShrinkingSource : public MemorySource {
 public:
  ShrinkingSource(std::string_view bytes, std::uint64_t claimed) : MemorySource(bytes), claimed_(claimed) {}
  std::uint64_t size() const override { return claimed_; }

 private:
  std::uint64_t claimed_;
};

TEST(Recovery, ASourceThatShrinksWhileItIsReadIsTorn) {
  const Built built = small_journal();
  const Contents contents = read_all(ShrinkingSource(std::string_view(built.bytes).substr(0, built.ends[3] + 30),
                                                     built.bytes.size() + (std::uint64_t{5} << 20)));
  EXPECT_EQ(contents.records, built.before(3));
  EXPECT_EQ(contents.recovery.valid_size, built.ends[3]);
}

TEST(Recovery, WhatTheCallbackThrowsReachesTheCaller) {
  const Built built = small_journal();
  int seen = 0;
  EXPECT_THROW(read(MemorySource(built.bytes),
                    [&](std::string_view) {
                      if (++seen == 3) throw std::logic_error("enough");
                    }),
               std::logic_error);
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace msrun::journal::testing
