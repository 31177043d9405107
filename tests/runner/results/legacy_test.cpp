// Records without a kind, built here byte by byte as legacy.h describes them: there is no program left that writes
// them.
#include "runner/results/legacy.h"

#include <gmock/gmock.h>

#include <cstring>

#include "runner/results/bytes.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
    return *this;
  }
  Bytes& byte(unsigned value) { return number(static_cast<std::uint8_t>(value)); }
  Bytes& text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
    return *this;
  }
  Bytes& real(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return number(bits);
  }
  const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

constexpr std::size_t name_size = 11;
constexpr std::size_t forward_at = 4 + 4 + name_size + 4;

// Up to the checksum of the inputs: one row of the forward, none of the backward.
Bytes result_bytes() {
  Bytes bytes;
  bytes.number(std::uint32_t{7}).text("Torch.add.0").number(std::int32_t{-1});
  bytes.byte(0x81).byte(0xFF).text("because");
  bytes.number(std::uint32_t{1})
      .text("torch.float64")
      .text("torch.float32")
      .text("(2, 3)")
      .text("line\nline")
      .byte(0x82);
  bytes.byte(1).real(0.25);
  for (int i = 1; i < 16; ++i) bytes.byte(0);
  bytes.byte(4).real(3);
  bytes.number(std::uint32_t{0});
  for (const std::uint64_t time : {1, 2, 3, 4}) bytes.number(time);
  return bytes.number(std::uint64_t{0xFEDCBA9876543210});
}

ApiResult result_in(const std::string& bytes) { return std::get<ApiResult>(decode_record(bytes)); }

TEST(LegacyRecords, AResult) {
  const ApiResult result = result_in(result_bytes().str());
  EXPECT_EQ(result.task, 7U);
  EXPECT_EQ(result.name, "Torch.add.0");
  EXPECT_EQ(result.device, -1);
  EXPECT_EQ(result.forward, Status::warning);
  EXPECT_TRUE(result.rounding_only);
  EXPECT_EQ(result.backward, std::nullopt);
  EXPECT_EQ(result.message, "because");
  ASSERT_EQ(result.forward_rows.size(), 1U);
  const DetailsRow& row = result.forward_rows.front();
  EXPECT_EQ(row.bench_dtype, "torch.float64");
  EXPECT_EQ(row.device_dtype, "torch.float32");
  EXPECT_EQ(row.shape, "(2, 3)");
  EXPECT_EQ(row.message, "line\nline");
  EXPECT_EQ(row.status, Status::error);
  EXPECT_TRUE(row.rounding_only);
  EXPECT_EQ(row[Metric::cosine], Cell::fp64(0.25));
  EXPECT_EQ(row[Metric::max_abs_error], Cell{});
  EXPECT_EQ(row[Metric::ulp_over_limit], Cell::integer(3));
  EXPECT_THAT(result.backward_rows, IsEmpty());
  EXPECT_EQ(result.times.materialise, 1U);
  EXPECT_EQ(result.times.compare, 4U);
  EXPECT_EQ(result.inputs, 0xFEDCBA9876543210U);
  EXPECT_FALSE(result.overflow);
}

TEST(LegacyRecords, TheFindingOfAnOverflowCheck) {
  const ApiResult result = result_in(result_bytes().byte(1).byte(0).byte(1).str());
  ASSERT_TRUE(result.overflow);
  EXPECT_EQ(result.overflow->verdict, OverflowFinding::Verdict::abnormal);
  EXPECT_FALSE(result.overflow->bench);
  EXPECT_TRUE(result.overflow->device);
}

TEST(LegacyRecords, Notes) {
  const Record attempt =
      decode_record(Bytes().number(UINT32_MAX).byte(1).number(std::uint32_t{3}).number(std::uint32_t{70'000}).str());
  EXPECT_EQ(std::get<AttemptNote>(attempt).event, AttemptNote::Event::in_flight);
  EXPECT_THAT(std::get<AttemptNote>(attempt).tasks, ElementsAre(3, 70'000));
  const Record end = decode_record(Bytes().number(UINT32_MAX).byte(2).str());
  EXPECT_EQ(std::get<AttemptNote>(end).event, AttemptNote::Event::end);
  const Record time = decode_record(Bytes().number(UINT32_MAX - 1).real(12.5).str());
  EXPECT_EQ(std::get<TimeNote>(time).time, 12.5);
}

TEST(LegacyRecords, DamagedOnesAreRefused) {
  const std::string result = result_bytes().str();
  for (std::size_t size = 0; size < result.size(); ++size) {
    EXPECT_THROW(decode_record(std::string_view(result).substr(0, size)), RecordError) << size;
  }
  EXPECT_THROW(decode_record(result_bytes().byte(0).str()), RecordError);
  EXPECT_THROW(decode_record(result_bytes().byte(3).byte(0).byte(0).str()), RecordError);
  EXPECT_THROW(decode_record(result_bytes().byte(0).byte(0).byte(0).byte(0).str()), RecordError);
  std::string unknown = result;
  unknown[forward_at] = 4;
  EXPECT_THROW(decode_record(unknown), RecordError);
  EXPECT_THROW(decode_record(Bytes().number(UINT32_MAX).byte(3).str()), RecordError);
  EXPECT_THROW(decode_record(Bytes().number(UINT32_MAX).byte(1).byte(1).str()), RecordError);
  EXPECT_THROW(decode_record(Bytes().number(UINT32_MAX - 1).byte(1).str()), RecordError);
}

}  // namespace
}  // namespace msrun
