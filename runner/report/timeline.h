// Which thread of which device was at which call when, how busy each was, and when runners died.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "runner/report/redaction.h"
#include "runner/report/run_records.h"

namespace msrun::report {

// row_of: by task, the row of its call in the page; -1: it has none. Null if the journal holds no times.
nlohmann::json timeline_json(const RunRecords& records, const std::vector<std::int64_t>& row_of,
                             const Redaction& redaction);

}  // namespace msrun::report
