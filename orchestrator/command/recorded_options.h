// The options of a run in the header of its journal, so that -csv_path alone continues it: written when the run begins,
// and put back onto the command line that continues it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "journal/run_files.h"
#include "kernels/base/command_line/arguments.h"
#include "orchestrator/command/command_line.h"
#include "runner/results/run_header.h"

namespace msrun {

// All options that decide about a run, without those about how it is shown and where its files are.
std::vector<OptionWords> recorded_options(const Options& options);

// Those of them that select the calls of the recording: what the fingerprint of a plan cannot tell apart.
std::span<const std::string_view> selecting_options();

// UserError if there is a journal that does not tell its run, with what can be done about it: for a -csv_path that has
// nothing else to go by.
void require_readable_journal(const RunFiles& files);

// What a command line with -csv_path takes over from the journal.
struct TakenOver {
  std::vector<OptionWords> options;  // those that the journal has and the line does not
  std::vector<std::string> notices;  // what is not taken over although the journal has it; one sentence each
  bool has_journal = false;          // one that tells its options
  std::vector<std::string> apart;    // Options::apart of the run, whichever of its faults are taken over

  std::vector<std::string> words() const;
};

// Looks for the journal beside the file that -csv_path names. An option that the line gives is left as the line has it,
// and so is one that something on the line stands in for: the files of the older recorder for -api_info and the
// reverse, --steal for --shard, --report for --no-report, another backend for the former one with all that was said of
// it. More devices than the run had threads leave the threads to the line, too. Of the faults of a simulated device
// those that end or stop a process are not taken over: what stopped a run would stop it again.
// Throws UserError for what a journal does not choose (is_given_again) and the line does not give, and for options that
// no run notes.
TakenOver take_over(const Arguments& given);

}  // namespace msrun
