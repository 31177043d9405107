#include "orchestrator/session/call_patterns.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace msrun {
namespace {

constexpr std::size_t most_wild = 2000;

// "3", "[0-9]", "[135]": these digits, which are in order.
std::string class_of(const std::string& digits) {
  if (digits.size() == 1) return digits;
  const bool is_range =
      digits.size() > 2 && static_cast<std::size_t>(digits.back() - digits.front()) + 1 == digits.size();
  return "[" + (is_range ? std::string{digits.front(), '-', digits.back()} : digits) + "]";
}

// Patterns for exactly these numbers, which are in order and of one length, from the digit at that place on.
std::vector<std::string> number_patterns(std::span<const std::string> numbers, std::size_t place) {
  if (place == numbers.front().size()) return {""};
  std::map<std::vector<std::string>, std::string> digits_by_rest;
  while (!numbers.empty()) {
    const char digit = numbers.front()[place];
    const auto end = std::ranges::find_if(numbers, [&](const std::string& number) { return number[place] != digit; });
    const auto count = static_cast<std::size_t>(end - numbers.begin());
    digits_by_rest[number_patterns(numbers.first(count), place + 1)] += digit;
    numbers = numbers.subspan(count);
  }
  std::vector<std::string> patterns;
  for (const auto& [rests, digits] : digits_by_rest) {
    for (const std::string& rest : rests) patterns.push_back(class_of(digits) + rest);
  }
  return patterns;
}

std::vector<std::string> compact_patterns(const std::vector<std::string>& names) {
  std::vector<std::string> patterns;
  // By what stands before the number, and by its length.
  std::map<std::pair<std::string, std::size_t>, std::set<std::string>> numbers;
  for (const std::string& name : names) {
    const std::size_t begin = name.find_last_not_of("0123456789") + 1;
    if (begin == 0 || begin == name.size() || name[begin - 1] != '.') {
      patterns.push_back(pattern_of(name));
    } else {
      numbers[{name.substr(0, begin), name.size() - begin}].insert(name.substr(begin));
    }
  }
  for (const auto& [key, of_length] : numbers) {
    const std::vector<std::string> ordered(of_length.begin(), of_length.end());
    for (const std::string& number : number_patterns(ordered, 0)) patterns.push_back(pattern_of(key.first) + number);
  }
  return patterns;
}

}  // namespace

std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (c == '\\') {
      pattern += "\\\\";
    } else if (c == '*' || c == '?' || c == '[' || c == ',') {
      pattern += std::string("[") + c + "]";
    } else {
      pattern += c;
    }
  }
  return pattern;
}

std::vector<std::string> patterns_of(const std::vector<std::string>& names, std::size_t usual) {
  std::vector<std::string> patterns;
  std::size_t bytes = 0;
  for (const std::string& name : names) {
    patterns.push_back(pattern_of(name));
    bytes += patterns.back().size();
  }
  if (bytes <= usual) return patterns;
  std::vector<std::string> compact = compact_patterns(names);
  const auto wild = std::ranges::count_if(
      compact, [](const std::string& pattern) { return pattern.find_first_of("*?[\\") != std::string::npos; });
  return static_cast<std::size_t>(wild) <= most_wild ? std::move(compact) : std::move(patterns);
}

}  // namespace msrun
