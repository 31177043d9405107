#include "runner/report/texts.h"

#include <cmath>
#include <ctime>

namespace msrun::report {

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string plural(std::uint64_t count, const std::string& noun) {
  return with_commas(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string utc_text(double seconds) {
  const auto whole = static_cast<std::time_t>(std::abs(seconds) < 1e12 ? seconds : 0);
  std::tm parts{};
  if (!(std::abs(seconds) < 1e12) || gmtime_r(&whole, &parts) == nullptr) return "?";
  std::string text(40, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts));
  return text;
}

}  // namespace msrun::report
