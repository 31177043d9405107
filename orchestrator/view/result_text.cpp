#include "orchestrator/view/result_text.h"

#include <array>

namespace msrun {

std::string_view overflow_verdict(const OverflowFinding& finding) {
  if (finding.is_none()) return "no overflow";
  constexpr std::array<std::string_view, 3> verdicts{"normal", "abnormal", "skip"};
  return verdicts[static_cast<std::size_t>(finding.verdict)];
}

}  // namespace msrun
