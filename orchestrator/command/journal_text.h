// What the journal of a run holds, as text for a person.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "orchestrator/command/journal_contents.h"
#include "orchestrator/view/slowest.h"

namespace msrun {

// The calls whose results took longest, at most so many, the slowest first.
Slowest slowest_of(const JournalContents& contents, std::size_t most);

// Counts, times, damage and options, a line for each with its title in front, and the slowest calls, as many as
// durations says.
std::string journal_text(const JournalContents& contents, std::size_t durations);

}  // namespace msrun
