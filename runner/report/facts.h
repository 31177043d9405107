// The facts of a run for a reader: which recording, on what, with which options, when, and from which files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runner/report/redaction.h"
#include "runner/report/run_records.h"

namespace msrun::report {

using Facts = std::vector<std::pair<std::string, std::string>>;

// A name and a text each. stamp is that of the names of the run's files.
Facts run_facts(const RunRecords& records, const std::string& stamp, const Redaction& redaction);

// Paths and names that the header of a journal holds and that a page without them must not.
std::vector<std::string> private_texts(const nlohmann::ordered_json& metadata);

// The recording that was checked, as the journal has it; empty if it does not say.
std::string recording_of(const nlohmann::ordered_json& metadata);

}  // namespace msrun::report
