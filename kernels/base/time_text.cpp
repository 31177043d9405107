#include "kernels/base/time_text.h"

#include <array>
#include <cmath>
#include <ctime>

namespace msrun {
namespace {

constexpr double furthest = 1e12;  // seconds; beyond it a number need not fit std::time_t

template <class Taken>
std::string time_text(double seconds, const char* form, Taken taken_apart) {
  if (!(std::abs(seconds) < furthest)) return "?";
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (taken_apart(&whole, &parts) == nullptr) return "?";
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), form, &parts)};
}

}  // namespace

std::string local_time_text(double seconds, const char* form) { return time_text(seconds, form, localtime_r); }

std::string utc_time_text(double seconds, const char* form) { return time_text(seconds, form, gmtime_r); }

}  // namespace msrun
