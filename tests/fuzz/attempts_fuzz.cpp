// Any bytes as the notes of calls in flight that a journal holds, one behind the other, each with its length in front.
// What is suspected of having taken a host down is what was in flight when a supervisor ended without a word, counted
// here in another way; a note that cannot be read leaves what was read before.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/results/attempts.h"
#include "runner/results/bytes.h"
#include "runner/results/record.h"
#include "tests/fuzz/target.h"

namespace {

using namespace msrun;

// The notes of an input: "<length><bytes behind the prefix of a note>", a length of 255 for a note with its prefix.
std::vector<AttemptNote> notes_in(std::string_view bytes) {
  std::vector<AttemptNote> notes;
  while (!bytes.empty()) {
    const auto length = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    const std::string_view text = bytes.substr(0, length);
    bytes.remove_prefix(text.size());
    try {
      const std::string record = length == 255 ? std::string(text) : "\x02\x01R\xD2" + std::string(text);
      const Record read = decode_record(record);
      if (const auto* note = std::get_if<AttemptNote>(&read)) {
        fuzz_require(std::get<AttemptNote>(decode_record(encode(*note))).tasks == note->tasks);
        notes.push_back(*note);
      }
    } catch (const RecordError&) {
    }
  }
  return notes;
}

// How many supervisors died while they were at a task: each start that does not follow an end, and the end of the
// journal, ends one that was at the tasks of the last note.
std::map<std::uint32_t, std::uint32_t> deaths(const std::vector<AttemptNote>& notes) {
  std::map<std::uint32_t, std::uint32_t> count;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    const bool is_last = i + 1 == notes.size();
    if (!is_last && notes[i + 1].event != AttemptNote::Event::start) continue;
    for (const std::uint32_t task : notes[i].tasks) ++count[task];
  }
  return count;
}

}  // namespace

FUZZ_TARGET(attempts_fuzz) {
  const std::vector<AttemptNote> notes = notes_in({reinterpret_cast<const char*>(data), size});
  AttemptHistory history;
  for (const AttemptNote& note : notes) history.see(note);
  const std::map<std::uint32_t, std::uint32_t> expected = deaths(notes);
  for (std::uint32_t least = 1; least <= 3; ++least) {
    const std::vector<std::uint32_t> suspects = history.suspects(least);
    fuzz_require(
        std::all_of(suspects.begin(), suspects.end(), [&](std::uint32_t task) { return expected.contains(task); }));
    fuzz_require(std::is_sorted(suspects.begin(), suspects.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(expected.at(a), a) < std::pair(expected.at(b), b);
    }));
    for (const auto& [task, count] : expected) {
      fuzz_require((std::find(suspects.begin(), suspects.end(), task) != suspects.end()) == (count >= least));
    }
  }
  return 0;
}
