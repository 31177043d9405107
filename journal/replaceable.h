// What a program writes under a name of the user's must not replace what took hours to come about and cannot be made
// again from anything else: recordings and the files of runs, be they of this run or of any other.
#pragma once

#include <string>

namespace msrun {

// Refuses an output that would replace a journal, the result or details file or the report of a run or a dump.json,
// through links as well: "--csv a.json would overwrite the recording /d/dump.json." A path where nothing is, or that is
// empty, passes, and so does own_report, which is made again. Journals are known by what they begin with, the others by
// their names. Throws UserError.
void require_replaceable(const std::string& option, const std::string& written, const std::string& own_report = {});

}  // namespace msrun
