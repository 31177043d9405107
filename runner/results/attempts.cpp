#include "runner/results/attempts.h"

#include <cstring>
#include <stdexcept>

#include "runner/results/record.h"

namespace msrun {
namespace {

enum class Kind : std::uint8_t { start, in_flight, end };

std::string note(Kind kind, std::span<const std::uint32_t> tasks) {
  std::string record(reinterpret_cast<const char*>(&attempt_marker), sizeof(attempt_marker));
  record += static_cast<char>(kind);
  record.append(reinterpret_cast<const char*>(tasks.data()), tasks.size_bytes());
  return record;
}

}  // namespace

std::string start_note() { return note(Kind::start, {}); }
std::string in_flight_note(std::span<const std::uint32_t> tasks) { return note(Kind::in_flight, tasks); }
std::string end_note() { return note(Kind::end, {}); }

void AttemptHistory::see(std::string_view note) {
  note.remove_prefix(sizeof(attempt_marker));
  const auto kind = static_cast<Kind>(note.front());
  note.remove_prefix(1);
  if (kind > Kind::end || note.size() % sizeof(std::uint32_t) != 0) {
    throw std::runtime_error("a note of the calls in flight cannot be read");
  }
  if (kind == Kind::start) {
    // The one before ended without a word.
    for (const std::uint32_t task : in_flight_) ++deaths_[task];
  }
  in_flight_.resize(note.size() / sizeof(std::uint32_t));
  if (!note.empty()) std::memcpy(in_flight_.data(), note.data(), note.size());
}

std::vector<std::uint32_t> AttemptHistory::suspects(std::uint32_t deaths) const {
  std::map<std::uint32_t, std::uint32_t> all = deaths_;
  for (const std::uint32_t task : in_flight_) ++all[task];
  std::vector<std::uint32_t> tasks;
  for (const auto& [task, count] : all) {
    if (count >= deaths) tasks.push_back(task);
  }
  return tasks;
}

}  // namespace msrun
