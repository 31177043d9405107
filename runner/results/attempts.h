// What a supervisor was at when it died. Beside the results, the journal holds notes of the calls in flight, so that a
// resumed run knows which of them may have taken the whole host down, not only their runner.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msrun {

// A supervisor begins; it is at these tasks now; it ends in order and leaves nothing in flight.
std::string start_note();
std::string in_flight_note(std::span<const std::uint32_t> tasks);
std::string end_note();

// Reads the notes of earlier runs in the order of the journal.
class AttemptHistory {
 public:
  // Throws std::runtime_error for a note that cannot be read.
  void see(std::string_view note);

  // Tasks that were in flight when a supervisor died, so many times or more. Call when all notes were seen.
  std::vector<std::uint32_t> suspects(std::uint32_t deaths) const;

 private:
  std::vector<std::uint32_t> in_flight_;
  std::map<std::uint32_t, std::uint32_t> deaths_;
};

}  // namespace msrun
