// The calls of a run in little room: columns of numbers in place of an object for each call, so that a hundred thousand
// take some two megabytes. What is said of a call beyond that stands in call_details.h.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "runner/report/redaction.h"
#include "runner/report/run_records.h"
#include "runner/report/standing.h"
#include "runner/results/result.h"

namespace msrun::report {

// Texts that many rows have in common, by their numbers.
class TextTable {
 public:
  std::size_t number_of(const std::string& text);
  bool has(const std::string& text) const { return numbers_.contains(text); }
  const nlohmann::json& texts() const { return texts_; }

 private:
  nlohmann::json texts_ = nlohmann::json::array();
  std::unordered_map<std::string, std::size_t> numbers_;
};

// A column of numbers as the text of an array: a run may have a million of them.
class NumberColumn {
 public:
  template <class T>
  void push_back(T number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    if (!text_.empty()) text_ += ',';
    text_.append(digits.data(), end);
  }
  std::string json() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
};

class CallRows {
 public:
  explicit CallRows(const Redaction& redaction) : redaction_(redaction) {}

  // Calls in dump order; the row of a call is how many were added before it. module and line: where in the model the
  // call is, where that is known.
  void add(const ApiResult& result, Standing standing, const std::string& module = {}, const std::string& line = {});
  std::size_t size() const { return size_; }
  // As the text of a JSON object, fit for a script element.
  std::string json() const;

 private:
  void add_name(const std::string& title);
  void add_note(const ApiResult& result, Standing standing);

  const Redaction& redaction_;
  std::size_t size_ = 0;
  TextTable apis_;
  TextTable ranks_;
  TextTable dtypes_;
  TextTable shapes_;
  TextTable notes_;
  TextTable modules_;
  TextTable lines_;
  std::vector<std::uint64_t> next_;  // by API: the index that its next call is expected to have
  NumberColumn api_;
  NumberColumn rank_;
  bool has_ranks_ = false;                               // else rank_ says nothing
  NumberColumn index_;                                   // distance from the expected one
  nlohmann::json odd_names_ = nlohmann::json::object();  // by row: names that are not an API and an index
  std::string standings_;
  std::string statuses_;  // two letters for each
  NumberColumn dtype_;
  NumberColumn shape_;
  NumberColumn device_;
  NumberColumn took_;         // tens of microseconds, three digits
  std::string visible_;       // a letter each: the exponent of the smallest visible fault of one element
  std::string errors_;        // four letters each: the largest absolute and relative error
  std::string module_;        // three letters each: the number of its text
  std::string line_;          // likewise
  bool has_modules_ = false;  // else module_ says nothing
  bool has_lines_ = false;
  NumberColumn note_;  // numbers of the texts from 1 on; 0: none
  std::size_t note_bytes_ = 0;
  std::size_t rounding_bytes_ = 0;  // of these: what explains calls that nothing speaks against
};

}  // namespace msrun::report
