// What a supervisor was at when it died. Beside the results, the journal holds notes of the calls in flight, so that a
// resumed run knows which of them may have taken the whole host down, not only their runner.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace msrun {

struct AttemptNote {
  // A supervisor begins; it is at these tasks now; it ends in order and leaves nothing in flight.
  enum class Event : std::uint8_t { start, in_flight, end };
  Event event = Event::start;
  std::vector<std::uint32_t> tasks;  // in flight
};

// The bytes of such notes (record.h).
std::string start_note();
std::string in_flight_note(std::span<const std::uint32_t> tasks);
std::string end_note();

// Reads the notes of earlier runs in the order of the journal.
class AttemptHistory {
 public:
  void see(const AttemptNote& note);

  // Tasks that were in flight when a supervisor died, so many times or more. Call when all notes were seen. Those that
  // were so most often come last: a task that takes the host down each time keeps no other from its turn.
  std::vector<std::uint32_t> suspects(std::uint32_t deaths) const;

 private:
  std::vector<std::uint32_t> in_flight_;
  std::map<std::uint32_t, std::uint32_t> deaths_;
};

}  // namespace msrun
