// Reads the journal of a run record by record: the one way from a file to results and notes, for the run that is
// continued, for msrun journal and for the tools.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "journal/reader.h"
#include "runner/results/record.h"

namespace msrun {

// Called in the order of the journal; where one is empty, its records are passed over.
struct RecordHandlers {
  std::function<void(ApiResult&& result)> result;
  std::function<void(ResultPart&& part)> part = {};
  std::function<void(const AttemptNote& note)> attempt;
  std::function<void(const TimeNote& note)> time;
  std::function<void(const DeathNote& note)> death = {};
  std::function<void(RankCalls&& calls)> rank = {};
  // Is told of a record that cannot be read, and the reading goes on: "accuracy_checking_1.journal: record 7 cannot be
  // read: it is cut short". Where it is empty, that is a UserError.
  std::function<void(const std::string& what)> unreadable;
};

// Reads to the end. Throws what journal::read throws, and UserError. Of a call with several results, because it was run
// again, the last counts; that is the caller's to see to.
journal::Recovery read_records(const journal::Source& source, const RecordHandlers& handlers);

// What of a journal is lost, a clause each: "1,024 bytes in 2 places are damaged". unreadable: records, as told to the
// handler. Empty if nothing is; frames that are repeated or out of their place lose nothing.
std::vector<std::string> losses_of(const journal::Recovery& recovery, std::uint64_t unreadable);

// The same clauses, separated by commas.
std::string losses_text(const journal::Recovery& recovery, std::uint64_t unreadable);

}  // namespace msrun
