#include "runner/results/attempts.h"

#include <algorithm>

#include "runner/results/record.h"

namespace msrun {

std::string start_note() { return encode(AttemptNote{AttemptNote::Event::start, {}}); }
std::string in_flight_note(std::span<const std::uint32_t> tasks) {
  return encode(AttemptNote{AttemptNote::Event::in_flight, {tasks.begin(), tasks.end()}});
}
std::string end_note() { return encode(AttemptNote{AttemptNote::Event::end, {}}); }

void AttemptHistory::see(const AttemptNote& note) {
  if (note.event == AttemptNote::Event::start) {
    // The one before ended without a word.
    for (const std::uint32_t task : in_flight_) ++deaths_[task];
  }
  in_flight_ = note.tasks;
}

std::vector<std::uint32_t> AttemptHistory::suspects(std::uint32_t deaths) const {
  std::map<std::uint32_t, std::uint32_t> all = deaths_;
  for (const std::uint32_t task : in_flight_) ++all[task];
  std::vector<std::uint32_t> tasks;
  for (const auto& [task, count] : all) {
    if (count >= deaths) tasks.push_back(task);
  }
  std::ranges::stable_sort(tasks, {}, [&](std::uint32_t task) { return all[task]; });
  return tasks;
}

}  // namespace msrun
