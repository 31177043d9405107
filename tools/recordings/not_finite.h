// What a recorded statistic says of NaN and infinities. A writer whose JSON has none of them writes texts: "nan",
// "inf", "-Infinity".
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "kernels/base/lower_case.h"
#include "tools/recordings/recording.h"

namespace msrun::recordings {

inline constexpr double infinite_number = std::numeric_limits<double>::infinity();

// Which of them a number is; two agree if they are of one kind.
enum class NotFinite : std::uint8_t { none, nan, infinity, minus_infinity };

inline NotFinite not_finite_kind(double value) {
  if (std::isfinite(value)) return NotFinite::none;
  if (std::isnan(value)) return NotFinite::nan;
  return value > 0 ? NotFinite::infinity : NotFinite::minus_infinity;
}

// NaN or an infinity; nothing for any other text.
inline std::optional<double> not_finite_of(std::string_view text) {
  constexpr std::size_t longest = std::string_view("-infinity").size();
  if (text.size() > longest) return std::nullopt;
  std::string word = lower_case(text);
  const bool minus = word.starts_with('-');
  if (minus || word.starts_with('+')) word.erase(0, 1);
  if (word == "inf" || word == "infinity") return minus ? -infinite_number : infinite_number;
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// A number, as which NaN and infinities count that are written as text; nothing for what is none.
inline std::optional<double> number_of(const Texts& texts, const Value& value) {
  if (value.is_number()) return value.number();
  return value.kind == Kind::text ? not_finite_of(texts[value.text]) : std::nullopt;
}

// Likewise with all digits of a whole number of 64 bits, which double precision rounds; a boolean is 0 or 1.
inline std::optional<long double> exact_number_of(const Texts& texts, const Value& value) {
  if (value.kind == Kind::boolean || value.kind == Kind::integer) return static_cast<long double>(value.integer);
  if (value.kind == Kind::real && value.digits != 0) {
    return std::strtold(std::string(texts[value.digits]).c_str(), nullptr);
  }
  const std::optional<double> number = number_of(texts, value);
  if (!number) return std::nullopt;
  return static_cast<long double>(*number);
}

}  // namespace msrun::recordings
