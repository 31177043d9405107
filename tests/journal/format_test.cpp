#include "journal/format.h"

#include <gmock/gmock.h>

#include "journal/crc32c.h"
#include "journal/error.h"
#include "tests/journal/support.h"

namespace msrun::journal::testing {
namespace {

using ::testing::HasSubstr;

TEST(Crc32c, KnownVectors) {
  // RFC 3720, B.4, and the check value of the CRC catalogues.
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending.push_back(static_cast<char>(i));
  const std::string descending(ascending.rbegin(), ascending.rend());
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("a"), 0xC1D04330U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(ascending), 0x46DD794EU);
  EXPECT_EQ(crc32c(descending), 0x113FDB5CU);
}

TEST(Crc32c, ContinuesAtAnyCut) {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text)) << cut;
  }
}

// A journal made by hand from format.md (the checksums bit by bit, the payload as a stored zstd block), not by our
// writer.
std::string handmade(int version) {
  const std::vector<std::string> versions{"01000000", "02000000", "03000000"};
  const std::vector<std::string> header_checksums{"5f6987bf", "419391e7", "e4e8c72c"};
  const std::vector<std::string> frame_checksums{"3dc9baa3", "260a779d", "2444efde"};
  const auto of_version = static_cast<std::size_t>(version - 1);
  const std::string digits = "4d5352554e4a4e4c" + versions[of_version] +
                             "02000000"
                             "7b7d" +
                             header_checksums[of_version] +
                             "f74a468b"
                             "13000000"
                             "0a000000"
                             "02000000"
                             "0155c70c" +
                             (version < 3 ? "" : "0000000000000000") + frame_checksums[of_version] +
                             "28b52ffd"
                             "200a"
                             "510000"
                             "02000000"
                             "6162"
                             "00000000";
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(Format, ReadsJournalsMadeByHand) {
  for (const int version : {1, 2, 3}) {
    const std::string bytes = handmade(version);
    const Contents contents = read_all(bytes);
    EXPECT_EQ(contents.recovery.version, static_cast<std::uint32_t>(version));
    EXPECT_EQ(contents.recovery.metadata, "{}");
    EXPECT_EQ(contents.records, (Records{"ab", ""}));
    EXPECT_EQ(contents.recovery.valid_size, bytes.size());
    EXPECT_EQ(contents.recovery.frames, 1U);
    expect_clean(contents.recovery);
  }
}

TEST(Format, AJournalOfAnEarlierVersionIsContinuedAsSuch) {
  for (const int version : {1, 2, 3}) {
    std::string bytes = handmade(version);
    Writer writer = Writer::resume(std::make_unique<MemoryFile>(bytes), bytes.size());
    writer.append("c");
    writer.close();
    const Contents contents = read_all(bytes);
    EXPECT_EQ(contents.recovery.version, static_cast<std::uint32_t>(version));
    EXPECT_EQ(contents.records, (Records{"ab", "", "c"}));
    expect_clean(contents.recovery);
  }
}

TEST(Format, WritesTheDocumentedHeader) {
  EXPECT_EQ(encode_file_header("{}"), handmade(3).substr(0, 22));
  EXPECT_THROW(encode_file_header(std::string(max_metadata_size + 1, ' ')), Error);
}

TEST(Format, FrameHeaderRoundTripsAndKeepsToItsLimits) {
  const auto round_trip = [](const FrameHeader& header, std::uint32_t read_with) {
    std::string bytes(frame_header_size, '\0');
    encode_frame_header(header, 77, bytes.data());
    return decode_frame_header(bytes, read_with);
  };
  const FrameHeader largest{.compressed_size = max_frame_size,
                            .uncompressed_size = max_frame_size,
                            .records = max_frame_size / record_prefix_size,
                            .payload_checksum = 5,
                            .sequence = 0x123456789ABCDEF0};
  const std::optional<FrameHeader> decoded = round_trip(largest, 77);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->compressed_size, largest.compressed_size);
  EXPECT_EQ(decoded->uncompressed_size, largest.uncompressed_size);
  EXPECT_EQ(decoded->records, largest.records);
  EXPECT_EQ(decoded->payload_checksum, largest.payload_checksum);
  EXPECT_EQ(decoded->sequence, largest.sequence);
  EXPECT_FALSE(round_trip(largest, 78)) << "the header of another journal";

  FrameHeader wrong = largest;
  wrong.compressed_size = max_frame_size + 1;
  EXPECT_FALSE(round_trip(wrong, 77));
  wrong = largest;
  wrong.uncompressed_size = max_frame_size + 1;
  EXPECT_FALSE(round_trip(wrong, 77));
  wrong = largest;
  wrong.records = 0;
  EXPECT_FALSE(round_trip(wrong, 77));
  wrong = largest;
  wrong.records = max_frame_size / record_prefix_size + 1;
  EXPECT_FALSE(round_trip(wrong, 77));
}

template <typename Exception>
void expect_refused(std::string_view bytes, const std::string& message) {
  try {
    read(MemorySource(bytes, "/some/file.journal"), [](std::string_view) { FAIL() << "a record was delivered"; });
    FAIL() << "expected: " << message;
  } catch (const Exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("/some/file.journal"));
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(Header, EachKindOfForeignFileHasItsOwnError) {
  const Built built = small_journal();
  expect_refused<EmptyFile>("", "is empty");
  expect_refused<NotAJournal>("API Name,Forward Test Success\n", "is not a journal");
  expect_refused<NotAJournal>("MSX", "is not a journal");
  expect_refused<DamagedHeader>("MSRUN", "ends inside its header");

  std::string newer = built.bytes;
  newer[8] = 4;
  expect_refused<NewerVersion>(newer, "format 4; this program reads up to 3");
  std::string zero = built.bytes;
  zero[8] = 0;
  expect_refused<DamagedHeader>(zero, "format 0");
  std::string metadata = built.bytes;
  metadata[file_prefix_size] ^= 1;
  expect_refused<DamagedHeader>(metadata, "checksum of its header");
  std::string claim = built.bytes;
  store_u32(&claim[12], 0xFFFFFFFF);
  expect_refused<DamagedHeader>(claim, "ends inside its header");
}

TEST(Header, EveryCutInsideItIsRefused) {
  const Built built = small_journal();
  for (std::size_t size = 1; size < built.ends[0]; ++size) {
    expect_refused<DamagedHeader>(built.bytes.substr(0, size), "ends inside its header");
  }
  EXPECT_EQ(read_all(built.bytes.substr(0, built.ends[0])).recovery.valid_size, built.ends[0]);
}

TEST(Header, MissingFileAndFolderAreErrors) {
  const TemporaryDirectory folder;
  EXPECT_THROW(read_journal(folder / "none"), Error);
  EXPECT_THROW(read_journal(folder / ""), NotAJournal);
}

}  // namespace
}  // namespace msrun::journal::testing
