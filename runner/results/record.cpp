#include "runner/results/record.h"

#include <cstring>

namespace msrun {

std::uint32_t task_of(std::string_view result) {
  std::uint32_t task = 0;
  std::memcpy(&task, result.data(), sizeof(task));
  return task;
}

RecordKind kind_of(std::string_view record) {
  if (record.size() <= sizeof(std::uint32_t)) return RecordKind::unreadable;
  switch (task_of(record)) {
    case attempt_marker:
      return RecordKind::attempt_note;
    case time_marker:
      return RecordKind::time_note;
    default:
      return RecordKind::result;
  }
}

}  // namespace msrun
