// What is added to the Message of a row.
#pragma once

#include <string>

#include "kernels/compare/details.h"
#include "kernels/compare/message_lines.h"

namespace msrun {

// Says that a row is suspicious whatever its status, and why.
inline void accuse(DetailsRow& row, const std::string& why) {
  row.beyond_rounding = true;
  row.rounding_only = false;
  row.trust = {};
  add_verdict(row, std::string(unexplained_line) + ": " + why);
}

}  // namespace msrun
