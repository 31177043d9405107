// The report of a run: one HTML file that needs nothing but a browser. That of a run with a journal is made from the
// journal's records, and says with the files beside the recording where in the model calls are (places.h). It has the
// same bytes at the end of the run and whenever it is made later, as long as these files are there.
#pragma once

#include <string>

#include "journal/file.h"
#include "runner/report/run_records.h"

namespace msrun::report {

struct ReportStyle {
  // For others: without paths, host names, and values of the recording.
  bool share = false;
};

// The page. stamp is that of the names of the run's files; it may be empty. rank: of a run over several the one that
// the page is about, as if it had been checked alone; empty: all. Throws journal::Error for what is no journal or
// cannot be read, and UserError for a journal of another program or one that does not know the rank.
std::string report_page(const journal::Source& source, const std::string& stamp, const ReportStyle& style,
                        const std::string& rank = {});

// The page of a run that is known by other files than a journal (records.sources). It shows what these tell, and says
// what only a journal knows.
std::string report_page(const RunRecords& records, const std::string& stamp, const ReportStyle& style);

}  // namespace msrun::report
