// The records that a run's journal is made of, and their bytes, which results have in the rings between runners and
// supervisor as well. format.md gives the bytes; fields.h says of which fields a record is made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "runner/results/attempts.h"
#include "runner/results/rank_calls.h"
#include "runner/results/result.h"

namespace msrun {

// The first byte of a record. A program that does not know a kind, or not its version, refuses the record, unless its
// highest bit is set: such a record only adds to what the others say and is passed over.
enum class RecordKind : std::uint8_t {
  result = 1,
  attempt_note = 2,
  part = 3,
  time_note = 0x81,
  death_note = 0x82,
  rank_calls = 0x83,
};

// What one device has given for a call that is for all devices: a result that waits for those of the others
// (agreement.h). The result of the call, which comes later, holds all that its parts say.
struct ResultPart {
  std::uint32_t part = 0;  // its number (WorkItems)
  ApiResult result;
};

// Says that what precedes it was written by then.
struct TimeNote {
  double time = 0;  // seconds since 1970
};

// Says that the process that checked calls on a device has ended before its work was done.
struct DeathNote {
  // A call that was under way in it.
  struct Call {
    std::uint32_t task = 0;
    std::uint32_t thread = 0;
    std::uint64_t began = 0;  // microseconds since 1970
    bool blamed = false;      // the process may have died of it
    bool again = false;       // it runs again
  };
  std::uint64_t time = 0;  // microseconds since 1970
  std::int32_t device = 0;
  std::string reason;     // "killed by signal 11 (SIGSEGV)", "no result within 60 s"
  bool given_up = false;  // so is the device
  std::vector<Call> calls;
};

// A record that adds to the others what this program does not know.
struct UnknownNote {};

using Record = std::variant<UnknownNote, ApiResult, ResultPart, AttemptNote, TimeNote, DeathNote, RankCalls>;

// The bytes of a record, always of the latest version.
std::string encode(const ApiResult& result);
std::string encode(const ResultPart& part);
std::string encode(const AttemptNote& note);
std::string encode(const TimeNote& note);
std::string encode(const DeathNote& note);
std::string encode(const RankCalls& calls);

// The record with these bytes, whatever its version; also those that msrun wrote before records had kinds (legacy.h).
// Throws RecordError (bytes.h) for what is no record or, in plain words, of a later program.
Record decode_record(std::string_view bytes);

// The result with these bytes, whatever its version. Throws RecordError also for a record of another kind.
ApiResult decode_result(std::string_view bytes);
// Reads it into result, in place of what that held, and uses its memory again. After an error result may hold anything.
void decode_result(std::string_view bytes, ApiResult& result);
// Whether the record is a result of the latest version, by its first bytes.
bool is_latest_result(std::string_view bytes);

}  // namespace msrun
