// What is added to the Message of a row.
#pragma once

#include <string>

#include "kernels/compare/details.h"

namespace msrun {

// A line of its own.
inline void add_line(DetailsRow& row, const std::string& line) {
  if (!row.message.empty() && !row.message.ends_with('\n')) row.message += '\n';
  row.message += line + "\n";
}

// Says that a row is suspicious whatever its status, and why. A line that begins so is how a row of a CSV is known for
// one (orchestrator/output/csv_import), so that it is never the first.
inline void accuse(DetailsRow& row, const std::string& why) {
  row.beyond_rounding = true;
  row.rounding_only = false;
  row.trust = {};
  if (row.message.empty()) row.message = "\n";
  add_line(row, "Not explained by rounding: " + why);
}

}  // namespace msrun
