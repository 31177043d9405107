// What a report that is given to others leaves out: paths, host names, and values of the recording.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/compare/details.h"

namespace msrun::report {

class Redaction {
 public:
  // known: paths and names that are left out wherever they stand. Where on is false, nothing is left out.
  Redaction(bool on, std::vector<std::string> known) : on_(on), known_(std::move(known)) {}

  bool on() const { return on_; }
  // A sentence about a result: words that are paths or files of tensors become "[file]".
  std::string text(std::string_view sentence) const;
  // A reason why a call was not checked, which may quote any value of it: numbers that are no part of a word become
  // "[number]" as well.
  std::string reason(std::string_view sentence) const;
  // A line about an output. What is said of a float output is counts, places and relative sizes; of any other it may
  // quote values, as a reason does.
  std::string line(const DetailsRow* row, std::string_view sentence) const;
  // A command line: the values of options that name files, and all other paths, become FILE.
  std::string command(std::string_view line) const;

 private:
  std::string without_files(std::string_view sentence) const;

  bool on_;
  std::vector<std::string> known_;
};

// Words of a line for a shell; quotes stay with their word.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace msrun::report
