// `msrun journal PATH...`: what the journals of runs hold, for a person, as JSON, or result by result.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "kernels/base/command_line/arguments.h"

namespace msrun {

struct JournalOptions {
  // Journals, CSVs beside them, or directories that hold them; at least one.
  std::vector<std::string> paths;
  bool json = false;            // one JSON object in place of the text
  std::string why;              // the call whose judgement is told, in place of all else; empty: none
  std::uint32_t durations = 0;  // how many of the slowest calls are named
  std::string export_path;      // where every result goes as a JSON line; "-": stdout, and nothing else; empty: nowhere
};

// The words after "journal". Throws UserError.
std::variant<JournalOptions, PrintAndExit> parse_journal_options(const std::vector<std::string>& words);

// All journals that the paths mean, each once; those of a directory by name, which is by time. Throws UserError.
std::vector<std::string> journals_of(const std::vector<std::string>& paths);

// Returns the exit code. Throws UserError and journal::Error for a file that cannot be read; of several, those that can
// are shown, the others named on stderr.
int show_journals(const JournalOptions& options);

}  // namespace msrun
