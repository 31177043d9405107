#include "kernels/compare/metrics/cell.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "kernels/tensor/dtype.h"

namespace msrun {
namespace {

// A positive decimal number: 0.d1d2d3... times 10^point, without trailing zeros.
struct Decimal {
  std::array<char, 20> digits{};
  int count = 0;
  int point = 0;

  std::string_view text() const { return {digits.data(), static_cast<std::size_t>(count)}; }
};

// Takes apart what std::to_chars writes in scientific form: "1.25e-05", "1e+16".
Decimal parse_scientific(const char* first, const char* last) {
  Decimal decimal;
  const char* at = first;
  for (; at != last && *at != 'e'; ++at) {
    if (*at != '.') decimal.digits[static_cast<std::size_t>(decimal.count++)] = *at;
  }
  while (decimal.count > 1 && decimal.digits[static_cast<std::size_t>(decimal.count - 1)] == '0') --decimal.count;
  int exponent = 0;
  if (at != last && at + 1 != last) std::from_chars(at[1] == '+' ? at + 2 : at + 1, last, exponent);
  decimal.point = exponent + 1;
  return decimal;
}

template <class Float>
Decimal shortest(Float magnitude) {
  std::array<char, 32> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, std::chars_format::scientific).ptr;
  return parse_scientific(buffer.data(), end);
}

// The shortest decimal between the midpoints to the neighbouring halves, the nearest one if several are that short.
// Five digits are enough for every half; values and midpoints are exact in double.
Decimal shortest_half(Half half) {
  const double value = to_float(half);
  const double below = half.bits == 0 ? 0.0 : to_float(Half{static_cast<std::uint16_t>(half.bits - 1)});
  const double above = half.bits == 0x7BFF ? 65536.0 : to_float(Half{static_cast<std::uint16_t>(half.bits + 1)});
  const double low = (value + below) / 2;
  const double high = (value + above) / 2;
  const bool closed = half.bits % 2 == 0;  // a midpoint rounds to the neighbour whose last bit is zero
  const auto rounds_back = [&](double x) { return closed ? x >= low && x <= high : x > low && x < high; };

  std::array<char, 32> buffer;
  for (int digits = 1;; ++digits) {
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific, digits - 1)
            .ptr;
    double nearest = 0;
    std::from_chars(buffer.data(), end, nearest);
    if (rounds_back(nearest) || digits == 5) return parse_scientific(buffer.data(), end);
    // Below a power of two the spacing halves, so the decimal on the wider side can round back where the nearest does
    // not.
    if (nearest < value) {
      const int exponent = parse_scientific(buffer.data(), end).point - digits;
      const double next = nearest + std::pow(10.0, exponent);
      std::array<char, 32> next_text;
      const auto next_end = std::to_chars(next_text.data(), next_text.data() + next_text.size(), next,
                                          std::chars_format::scientific, digits - 1)
                                .ptr;
      double parsed = 0;
      std::from_chars(next_text.data(), next_end, parsed);
      if (rounds_back(parsed)) return parse_scientific(next_text.data(), next_end);
    }
  }
}

// Lays the digits out as numpy prints a scalar: positional for 1e-4 <= magnitude < 1e16, else scientific with an
// exponent of at least two digits.
void append_decimal(std::string& out, const Decimal& decimal, double magnitude) {
  const std::string_view digits = decimal.text();
  if (magnitude >= 1e-4 && magnitude < 1e16) {
    if (decimal.point <= 0) {
      out += "0.";
      out.append(static_cast<std::size_t>(-decimal.point), '0');
      out += digits;
    } else if (decimal.point >= decimal.count) {
      out += digits;
      out.append(static_cast<std::size_t>(decimal.point - decimal.count), '0');
      out += ".0";
    } else {
      out += digits.substr(0, static_cast<std::size_t>(decimal.point));
      out += '.';
      out += digits.substr(static_cast<std::size_t>(decimal.point));
    }
    return;
  }
  out += digits[0];
  if (digits.size() > 1) {
    out += '.';
    out += digits.substr(1);
  }
  const int exponent = decimal.point - 1;
  out += exponent < 0 ? "e-" : "e+";
  const int size = std::abs(exponent);
  if (size < 10) out += '0';
  out += std::to_string(size);
}

// nan, inf, -inf; false for a finite value.
bool append_special(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else {
    return false;
  }
  return true;
}

void append_fixed(std::string& out, double value, int precision) {
  if (append_special(out, value)) return;
  std::array<char, 352> buffer;  // 309 digits, sign, point and up to 20 decimals
  out.append(
      buffer.data(),
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, precision).ptr);
}

void append_shortest(std::string& out, double value, bool half) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  const float narrow = static_cast<float>(value);
  const Half bits = half ? to_half(narrow) : Half{};
  const float stored = half ? to_float(bits) : narrow;
  if (append_special(out, stored)) return;
  if (std::signbit(stored)) out += '-';
  const float magnitude = std::fabs(stored);
  if (magnitude == 0) {
    out += "0.0";
    return;
  }
  const Decimal decimal =
      half ? shortest_half(Half{static_cast<std::uint16_t>(bits.bits & 0x7FFFU)}) : shortest(magnitude);
  append_decimal(out, decimal, magnitude);
}

void append_integer(std::string& out, double value) {
  constexpr double limit = 9223372036854775808.0;
  if (!(value >= -limit && value < limit)) {
    append_fixed(out, value, 0);
    return;
  }
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<std::int64_t>(value)).ptr;
  out.append(buffer.data(), end);
}

}  // namespace

void append_cell_text(std::string& out, const Cell& cell, int precision) {
  switch (cell.kind) {
    case Cell::Kind::blank:
      out += ' ';
      return;
    case Cell::Kind::fp64:
      append_fixed(out, cell.value, precision);
      return;
    case Cell::Kind::fp32:
      append_shortest(out, cell.value, false);
      return;
    case Cell::Kind::fp16:
      append_shortest(out, cell.value, true);
      return;
    case Cell::Kind::integer:
      append_integer(out, cell.value);
      return;
  }
}

void append_python_number(std::string& out, double value) {
  if (append_special(out, value)) return;
  if (std::signbit(value)) out += '-';
  const double magnitude = std::fabs(value);
  if (magnitude == 0) {
    out += "0.0";
  } else {
    append_decimal(out, shortest(magnitude), magnitude);
  }
}

void append_python_cell(std::string& out, const Cell& cell, int /*precision*/) {
  if (cell.kind != Cell::Kind::blank) append_python_number(out, cell.value);
}

std::string cell_text(const Cell& cell, int precision) {
  std::string text;
  append_cell_text(text, cell, precision);
  return text;
}

}  // namespace msrun
