#include "runner/results/record.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "runner/results/bytes.h"
#include "runner/results/fields.h"
#include "runner/results/legacy.h"

namespace msrun {
namespace {

// Behind kind and version: what no record had before there were kinds (legacy.h).
constexpr std::string_view mark = "R\xD2";
constexpr std::size_t prefix_size = 4;
constexpr std::size_t usual_size = 2048;  // few results have more bytes
constexpr std::uint8_t may_be_passed_over = 0x80;
constexpr std::uint8_t version_with_outcome = 2;  // of results

class RecordWriter : public ByteWriter {
 public:
  using ByteWriter::ByteWriter;
  void task(std::uint32_t value) { number(value); }
  void rows(const std::vector<DetailsRow>& values) {
    list(values, [this](const DetailsRow& row) { fields(*this, row); });
  }
};

class RecordReader : public ByteReader {
 public:
  using ByteReader::ByteReader;
  void task(std::uint32_t& value) { number(value); }
  void rows(std::vector<DetailsRow>& values) {
    list(values, [this](DetailsRow& row) { fields(*this, row); });
  }
};

template <class T>
std::string encode_fields(const T& value) {
  std::string bytes;
  bytes.reserve(usual_size);
  bytes += static_cast<char>(RecordType<T>::kind);
  bytes += static_cast<char>(RecordType<T>::version);
  bytes += mark;
  RecordWriter writer(bytes);
  fields(writer, value);
  return bytes;
}

template <class T>
T decode_fields(std::string_view bytes, std::uint8_t version) {
  T value;
  RecordReader reader(bytes, version);
  fields(reader, value);
  reader.end();
  return value;
}

// Records of before there were outcomes: no device had what a rule skips.
void derive_outcome(ApiResult& result) {
  result.outcome = outcome_by_reason(result);
  if (result.outcome == Outcome::not_checkable && result.device < 0) result.outcome = Outcome::skipped_by_rule;
}

template <class T>
Record decode_version(std::string_view bytes, std::uint8_t version, const char* name) {
  if (version == 0) throw RecordError(std::string(name) + " of version 0, which there is not");
  if (version <= RecordType<T>::version) return decode_fields<T>(bytes, version);
  if ((static_cast<std::uint8_t>(RecordType<T>::kind) & may_be_passed_over) != 0) return UnknownNote{};
  throw RecordError(std::string(name) + " of version " + std::to_string(version) +
                    ", which a later msrun has written; this one reads up to version " +
                    std::to_string(RecordType<T>::version));
}

}  // namespace

std::string encode(const ApiResult& result) { return encode_fields(result); }
std::string encode(const ResultPart& part) { return encode_fields(part); }
std::string encode(const AttemptNote& note) { return encode_fields(note); }
std::string encode(const TimeNote& note) { return encode_fields(note); }
std::string encode(const DeathNote& note) { return encode_fields(note); }
std::string encode(const RankCalls& calls) { return encode_fields(calls); }

Record decode_record(std::string_view bytes) {
  if (bytes.size() < prefix_size) throw RecordError("it is too short");
  Record record;
  if (bytes.substr(2, mark.size()) != mark) {
    record = decode_legacy_record(bytes);
    if (auto* result = std::get_if<ApiResult>(&record)) derive_outcome(*result);
    return record;
  }
  const auto kind = static_cast<std::uint8_t>(bytes[0]);
  const auto version = static_cast<std::uint8_t>(bytes[1]);
  bytes.remove_prefix(prefix_size);
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::result:
      record = decode_version<ApiResult>(bytes, version, "a result");
      if (version < version_with_outcome) derive_outcome(std::get<ApiResult>(record));
      return record;
    case RecordKind::part:
      return decode_version<ResultPart>(bytes, version, "a part of a result");
    case RecordKind::attempt_note:
      return decode_version<AttemptNote>(bytes, version, "a note of the calls in flight");
    case RecordKind::time_note:
      return decode_version<TimeNote>(bytes, version, "a note of the time");
    case RecordKind::death_note:
      return decode_version<DeathNote>(bytes, version, "a note of a death");
    case RecordKind::rank_calls:
      return decode_version<RankCalls>(bytes, version, "the calls of a rank");
  }
  if ((kind & may_be_passed_over) != 0) return UnknownNote{};
  throw RecordError("a record of kind " + std::to_string(kind) + ", which this msrun does not know; a later one may");
}

ApiResult decode_result(std::string_view bytes) {
  Record record = decode_record(bytes);
  ApiResult* result = std::get_if<ApiResult>(&record);
  if (result == nullptr) throw RecordError("it is no result");
  return std::move(*result);
}

}  // namespace msrun
