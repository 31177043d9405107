// The journal of one part of a run, as its header tells of it, and whether several are parts of one run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "journal/reader.h"
#include "orchestrator/output/csv.h"

namespace msrun {

struct PartJournal {  // NOLINT(bugprone-exception-escape): moving JSON asserts, and throws nothing
  std::string path;
  nlohmann::ordered_json metadata;
  std::string part;                          // "2/8", "stolen" or "all"
  std::string host;                          // empty: of a version that did not say
  std::string node;                          // with --steal: the process
  std::string backend;                       // and its devices: "torch:npu 0 1"
  std::string version;                       // of msrun
  std::optional<std::uint64_t> shard_calls;  // that belong to the part
  // Filled while the journal is read.
  journal::Recovery recovery;
  std::uint64_t results = 0;     // calls that have a result here
  std::uint64_t taken = 0;       // of these, calls whose result counts in the merged run
  std::uint64_t unreadable = 0;  // records
};

// Files that are no part although journals were begun in them.
struct LeftOut {
  std::vector<std::string> empty;    // paths: a process leaves one behind that dies as it begins
  std::vector<std::string> damaged;  // whose header cannot be read: a sentence each, which begins with the path
};

// The parts in the order of their paths, whatever that of the arguments. Throws UserError for a file that is no journal
// of a run, of a run whose CSVs cannot be made from its journal alone, and, naming the differences, for one that is of
// another recording or of other options than the first; and if there is no part.
std::vector<PartJournal> open_parts(std::vector<std::string> paths, LeftOut& left_out);

// Calls of the whole recording.
std::uint64_t calls_of(const PartJournal& part);

// How the CSVs of the run are written.
CsvStyle csv_style_of(const PartJournal& part);

// The header of a journal with the results of all parts: that of a run that was not dealt out.
nlohmann::ordered_json merged_metadata(const std::vector<PartJournal>& parts);

// Numbers of parts of which there is no journal, of how many; none if the parts are not all shards of one number.
struct AbsentShards {
  std::uint32_t of = 0;
  std::vector<std::uint32_t> numbers;
};
AbsentShards absent_shards(const std::vector<PartJournal>& parts);

// The command line that checks the calls of this part: all of them, or with another selection. Options that a journal
// does not choose (given_again) are left out. Words are quoted for a shell.
std::string command_like(const PartJournal& like, const std::string& program, bool whole);

// The flags that are missing in it, because whoever runs it gives them.
std::vector<std::string> given_again(const PartJournal& part);

// The command line that checks this shard, likewise.
std::string shard_command(const PartJournal& like, const std::string& program, std::uint32_t number, std::uint32_t of);

}  // namespace msrun
