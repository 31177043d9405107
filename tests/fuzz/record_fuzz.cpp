// Any bytes as a record of a run's journal: a result or a note, or a RecordError. What was read and is written again is
// the same bytes and reads the same, and what is stored in memory comes out as it went in. The first byte of an input
// says whether the rest is the whole record or what follows the prefix of one, which chance would rarely find.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "runner/results/bytes.h"
#include "runner/results/record.h"
#include "runner/results/stored_results.h"
#include "tests/fuzz/target.h"

namespace {

using namespace msrun;

std::string record_of(std::uint8_t form, std::string_view input) {
  const std::string bytes(input);
  switch (form) {
    case 1:
      return "\x01\x01R\xD2" + bytes;
    case 2:
      return "\x02\x01R\xD2" + bytes;
    case 3:
      return "\x81\x01R\xD2" + bytes;
    default:
      return bytes;
  }
}

std::optional<std::string> encode_again(const Record& record) {
  if (const auto* result = std::get_if<ApiResult>(&record)) return encode(*result);
  if (const auto* part = std::get_if<ResultPart>(&record)) return encode(*part);
  if (const auto* attempt = std::get_if<AttemptNote>(&record)) return encode(*attempt);
  if (const auto* time = std::get_if<TimeNote>(&record)) return encode(*time);
  return std::nullopt;
}

}  // namespace

FUZZ_TARGET(record_fuzz) {
  if (size == 0) return 0;
  const std::string bytes = record_of(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  try {
    Record record = decode_record(bytes);
    const std::optional<std::string> again = encode_again(record);
    if (!again) return 0;
    const bool of_today = bytes.substr(2, 2) == again->substr(2, 2);
    // A row may lack cells for columns that came later; it gets them, blank.
    fuzz_require(*again == bytes || !of_today || again->size() > bytes.size());
    fuzz_require(encode_again(decode_record(*again)) == again);
    if (auto* result = std::get_if<ApiResult>(&record)) {
      result->task = 0;
      StoredResults stored(1);
      stored.put(*result);
      fuzz_require(encode(stored.get(0)) == encode(*result));
    }
  } catch (const RecordError&) {
  }
  return 0;
}
