// What a report that is given to others leaves out: paths, host names, and values of the recording.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/compare/details.h"

namespace msrun::report {

class Redaction {
 public:
  // known: paths and names that are left out wherever they stand. Where on is false, nothing is left out.
  // ranks: by the folder of each rank, which may say whose it is, what it is called.
  Redaction(bool on, std::vector<std::string> known, std::map<std::string, std::string> ranks = {})
      : on_(on), known_(std::move(known)), ranks_(std::move(ranks)) {}

  bool on() const { return on_; }
  // The name of a call, "step0/rank3:Torch.matmul.0".
  std::string name(std::string_view title) const;
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
  std::map<std::string, std::string> ranks_;
};

// What ranks are called that others are to see: "rank3" where their folder is, and no other one of that name; else
// "rank #1" and so on, in their order.
std::map<std::string, std::string> shared_rank_names(const std::vector<std::string>& ranks);

}  // namespace msrun::report
