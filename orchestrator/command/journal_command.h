// `msrun journal FILE`: what the journal of a run holds, for a person, as JSON, or result by result.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "kernels/base/command_line/arguments.h"

namespace msrun {

struct JournalOptions {
  std::string path;         // of a journal, or of the result CSV beside it
  bool json = false;        // one JSON object in place of the text
  std::string export_path;  // where every result goes as a JSON line; "-": stdout, and nothing else; empty: nowhere
};

// The words after "journal". Throws UserError.
std::variant<JournalOptions, PrintAndExit> parse_journal_options(const std::vector<std::string>& words);

// Returns the exit code. Throws UserError and journal::Error for a file that cannot be read.
int show_journal(const JournalOptions& options);

}  // namespace msrun
