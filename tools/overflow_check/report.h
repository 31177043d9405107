// The file that says where the first NaN came from (dump_compare.md 14).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/overflow_check/search.h"

namespace msrun::overflow_check {

struct RankDump {
  std::uint64_t number = 0;
  recordings::Recording recording;
};

// The document, with all keys of msProbe's and the first call under "first". Reads the calls' entries once more.
std::string report_text(const std::vector<RankDump>& ranks, const std::vector<Anomaly>& anomalies);

}  // namespace msrun::overflow_check
