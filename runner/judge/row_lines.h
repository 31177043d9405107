// What rows say of the device, and what is added to their Messages.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/compare/details.h"
#include "kernels/compare/metrics/message_lines.h"

namespace msrun {

// Nothing in one direction speaks against the device.
inline bool is_clean(const std::vector<DetailsRow>& rows) {
  return std::ranges::none_of(rows, [](const DetailsRow& row) { return is_suspicious(row); });
}

// Says that a row is suspicious whatever its status, and why.
inline void make_suspicious(DetailsRow& row, const std::string& why) {
  row.beyond_rounding = true;
  row.rounding_only = false;
  row.trust = {};
  add_verdict(row, std::string(unexplained_line) + ": " + why);
}

}  // namespace msrun
