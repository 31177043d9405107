// The options that a run notes in the header of its journal, and what a journal may do with them. A journal is data
// that anybody may have written: it says how results are decided, and chooses no program, library or configuration that
// is used on the host of whoever reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/results/run_header.h"

namespace msrun {

// Whether an option decides about the result of a call. The others are about which calls run, how many at a time, and
// what is shown of them. Whoever runs one call of a run again, here or elsewhere, has to keep those that decide.
bool decides_results(std::string_view flag);

// Whether an option with its values names a program, a library or a configuration: whoever continues a run gives it
// again, because what a journal names may be anything.
bool is_given_again(const OptionWords& option);

// The options in the header of a journal; nothing where the header does not hold them, as of earlier versions. Throws
// UserError that names the journal and the option where the header holds what no run notes: an unknown option, one that
// prints or writes something, values that the option does not take, or something other than words.
std::optional<std::vector<OptionWords>> checked_options(const RunHeader& header, const std::string& journal);

// Throws UserError for those of the options that are given again, if there are any. by: the option or the file of the
// command line that names the journal, with which the message begins.
void require_given_again(const std::vector<OptionWords>& missing, const std::string& by);

// The flags of those, and such flags as text: "--python and -config".
std::vector<std::string> flags_given_again(const std::vector<OptionWords>& options);
std::string flags_text(const std::vector<std::string>& flags);

}  // namespace msrun
