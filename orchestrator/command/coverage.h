// How much of the inventory of APIs the table of operators covers.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace msrun {

// What the table of operators knows of the inventory. An operator counts if all of its names are known.
struct Coverage {
  int operators = 0;
  int covered = 0;
  std::array<int, 3> by_priority{};  // of the covered
  int always_skipped = 0;            // of the covered: every call ends as SKIP, docs/operators.md says why
  std::vector<std::string> missing;  // names that are not known, "Torch.stft"
};
Coverage measure_coverage();

// Whether every call of a known API ends as SKIP; false for one that is not known.
bool is_always_skipped(std::string_view type, std::string_view api);

}  // namespace msrun
