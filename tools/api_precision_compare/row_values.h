// The values of one output on both sides, as a standard asks for them, and a record of those that are not there.
#pragma once

#include <optional>
#include <string>

#include "tools/api_precision_compare/judge.h"

namespace msrun::api_precision_compare {

// What upstream reports for a row in place of a verdict. Thrown only where the rules are upstream's.
struct RowError {
  const char* text;
};

inline bool is_blank(const InputCell& cell) { return cell.kind == InputCell::Kind::blank; }
inline bool is_number(const InputCell& cell) { return cell.kind == InputCell::Kind::number; }

class RowValues {
 public:
  // All three must outlive the object.
  RowValues(const OutputRow& npu, const OutputRow& gpu, const Rules& rules) : npu_(npu), gpu_(gpu), rules_(rules) {}

  // A value of the NPU that must be there. Nothing if it is not, which is noted; upstream gives up the row by RowError.
  std::optional<double> needed(Metric metric);
  // A value of the NPU for the comparison with the GPU, where upstream takes blank for zero and throws RowError for
  // other texts.
  std::optional<double> npu(Metric metric);
  // A value of the GPU. One without errors is the hardest to compare with, so zero can take the place of a value that
  // it lacks: what passes would pass in any case. Upstream throws RowError for texts.
  std::optional<double> gpu(Metric metric);

  // Whether both sides can be compared: the NPU has a number, and the GPU a number or nothing.
  bool are_comparable(Metric metric) const;

  // Sentences on the values that were asked for and not there; empty if there are none.
  const std::string& missing() const { return missing_; }
  // Sentences on the values alone that are there and are no numbers.
  const std::string& unreadable() const { return unreadable_; }
  // Titles of the values that were blank on the GPU and taken for zero.
  const std::string& blank_on_gpu() const { return blank_on_gpu_; }

 private:
  void miss(const char* side, Metric metric, const InputCell& cell);

  const OutputRow& npu_;
  const OutputRow& gpu_;
  const Rules& rules_;
  std::string missing_;
  std::string unreadable_;
  std::string blank_on_gpu_;
};

}  // namespace msrun::api_precision_compare
