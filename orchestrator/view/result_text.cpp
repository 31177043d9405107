#include "orchestrator/view/result_text.h"

#include <array>

#include "kernels/base/text.h"

namespace msrun {

std::string first_line(const std::string& message) {
  std::size_t begin = message.find_first_not_of("\r\n ");
  if (begin == std::string::npos) return {};
  return sanitised(message.substr(begin, message.find_first_of("\r\n", begin) - begin));
}

std::string_view overflow_verdict(const OverflowFinding& finding) {
  if (finding.is_none()) return "no overflow";
  constexpr std::array<std::string_view, 3> verdicts{"normal", "abnormal", "skip"};
  return verdicts[static_cast<std::size_t>(finding.verdict)];
}

std::string api_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

}  // namespace msrun
