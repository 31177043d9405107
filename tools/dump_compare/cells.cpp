#include "tools/dump_compare/cells.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/lower_case.h"
#include "kernels/base/text.h"
#include "tools/recordings/not_finite.h"

namespace msrun::dump_compare {
namespace {

using recordings::Kind;
using recordings::Texts;

enum class Sort : std::uint8_t { number, nan, positive_infinity, negative_infinity, device, other };

struct Sorted {
  Sort sort = Sort::other;
  double number = 0;
};

Sort sort_of(double value) {
  if (std::isnan(value)) return Sort::nan;
  if (std::isinf(value)) return value > 0 ? Sort::positive_infinity : Sort::negative_infinity;
  return Sort::number;
}

Sorted sorted(const Texts& texts, const Value& value) {
  if (value.is_number()) return {sort_of(value.number()), value.number()};
  if (value.kind != Kind::text) return {};
  const std::string_view text = texts[value.text];
  const bool device = text.find("npu") != std::string_view::npos || text.find("cpu") != std::string_view::npos ||
                      text.find("cuda") != std::string_view::npos;
  if (const auto number = parse_number<double>(lower_case(text))) return {sort_of(*number), *number};
  return {device ? Sort::device : Sort::other, 0};
}

bool as_real(const Value& value, bool column) { return column || !value.is_whole(); }

// Whether the cells show one text.
bool same_text(const Texts& target_texts, const Value& target, bool target_real, const Texts& golden_texts,
               const Value& golden, bool golden_real) {
  if (target.is_number() && golden.is_number()) {
    if (as_real(target, target_real) != as_real(golden, golden_real)) return false;
    const double a = target.number();
    const double b = golden.number();
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (target.kind == Kind::integer && golden.kind == Kind::integer) return target.integer == golden.integer;
    if (!as_real(target, target_real) && target.is_whole() && golden.is_whole()) {
      return value_text(target_texts, target) == recordings::value_text(golden_texts, golden);
    }
    return a == b && std::signbit(a) == std::signbit(b);
  }
  return value_text(target_texts, target) == recordings::value_text(golden_texts, golden);
}

double whole_difference(const Cell& target, const Cell& golden) {
  const auto number = [](const Cell& cell) { return *recordings::exact_number_of(cell.texts, *cell.value); };
  return static_cast<double>(number(target) - number(golden));
}

}  // namespace

ColumnTypes column_types(const Sides& sides, const std::vector<Row>& rows) {
  struct Seen {
    bool only_numbers = true;
    bool real = false;
    void add(const Value& value) {
      if (!value.is_number() || std::isnan(value.number())) only_numbers = false;
      if (value.kind == Kind::real && !value.is_whole()) real = true;
    }
  };
  std::array<Seen, statistic_count> target;
  std::array<Seen, statistic_count> golden;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < statistic_count; ++i) {
      target[i].add(row.target == no_place ? Value() : sides.target.leaves[row.target].statistics[i]);
      golden[i].add(row.golden == no_place ? Value() : sides.golden.leaves[row.golden].statistics[i]);
    }
  }
  ColumnTypes types;
  for (std::size_t i = 0; i < statistic_count; ++i) {
    types.target[i] = target[i].only_numbers && target[i].real;
    types.golden[i] = golden[i].only_numbers && golden[i].real;
  }
  return types;
}

Difference difference_of(const Cell& target, const Cell& golden, bool exact) {
  Difference result;
  if (target.value == nullptr || golden.value == nullptr) {
    result.word = "N/A";
    return result;
  }
  const bool whole = target.value->is_whole() && golden.value->is_whole();
  const bool same =
      exact && whole
          ? recordings::value_text(target.texts, *target.value) == recordings::value_text(golden.texts, *golden.value)
          : same_text(target.texts, *target.value, target.real, golden.texts, *golden.value, golden.real);
  if (same) {
    result.word = "0";
    return result;
  }
  const Sorted mine = sorted(target.texts, *target.value);
  const Sorted theirs = sorted(golden.texts, *golden.value);
  const bool odd = mine.sort >= Sort::device;
  if (odd || theirs.sort >= Sort::device) {
    result.word = mine.sort == Sort::device && theirs.sort == Sort::device ? "N/A" : "Diff";
  } else if (mine.sort == Sort::nan || theirs.sort == Sort::nan) {
    result.word = "Nan";
  } else if (mine.sort == Sort::number && theirs.sort == Sort::number) {
    result.difference = exact && whole ? whole_difference(target, golden) : mine.number - theirs.number;
    result.percent = theirs.number == 0 ? std::numeric_limits<double>::infinity()
                                        : std::abs(result.difference / theirs.number * 100);
  } else if (mine.sort == Sort::number) {
    result.word = theirs.sort == Sort::positive_infinity ? "-inf" : "inf";
  } else if (mine.sort == theirs.sort) {
    result.word = "0";
  } else {
    result.word = mine.sort == Sort::positive_infinity ? "inf" : "-inf";
  }
  return result;
}

std::string statistic_text(const Texts& texts, const Value& value, bool as_real_number, bool for_csv) {
  if (value.is_number() && as_real(value, as_real_number)) {
    const double number = value.number();
    if (std::isnan(number)) return "Nan";
    std::string text;
    if (for_csv && std::isinf(number)) text += ' ';
    recordings::append_real(text, number);
    return text;
  }
  return value_text(texts, value);
}

}  // namespace msrun::dump_compare
