#include "runner/report/texts.h"

#include <cmath>
#include <ctime>

namespace msrun::report {

std::string utc_text(double seconds) {
  const auto whole = static_cast<std::time_t>(std::abs(seconds) < 1e12 ? seconds : 0);
  std::tm parts{};
  if (!(std::abs(seconds) < 1e12) || gmtime_r(&whole, &parts) == nullptr) return "?";
  std::string text(40, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts));
  return text;
}

}  // namespace msrun::report
