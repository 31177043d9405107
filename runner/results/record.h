// What the records of a run's journal are: results, notes of the calls in flight (runner/results/attempts.h), and notes
// of the time (runner/results/stored_results.h). A result begins with its task; a note has a number there that no plan reaches.
#pragma once

#include <cstdint>
#include <string_view>

namespace msrun {

inline constexpr std::uint32_t attempt_marker = UINT32_MAX;
inline constexpr std::uint32_t time_marker = UINT32_MAX - 1;

enum class RecordKind : std::uint8_t {
  result,        // as encode(ApiResult) writes it
  attempt_note,  // for AttemptHistory
  time_note,
  unreadable,  // too short for any
};

RecordKind kind_of(std::string_view record);

// The task of a record that is a result.
std::uint32_t task_of(std::string_view result);

}  // namespace msrun
