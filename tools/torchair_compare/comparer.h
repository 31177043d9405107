// Compares two tensors that lie in files and judges what it finds (torchair.md 8). Reads both in step, a few thousand
// elements at a time.
#pragma once

#include <optional>
#include <string>

#include "kernels/compare/metrics/dump_metrics.h"
#include "tools/torchair_compare/dump_file.h"
#include "tools/torchair_compare/judge.h"
#include "tools/torchair_compare/packed_scales.h"
#include "tools/torchair_compare/row.h"

namespace msrun::torchair {

// One for each thread.
class Comparer {
 public:
  // checksums: rows are judged by equality of the bytes of the arrays.
  explicit Comparer(bool checksums) : checksums_(checksums) {}

  // Fills everything of row that depends on the tensors. Throws SkipError if a file cannot be read to its end.
  void compare(const DumpTensor& golden, const DumpTensor& mine, Row& row);

  // A row with one tensor only: what the other one lacks is told by row.fail_reason.
  void describe_mine(const DumpTensor& mine, Row& row);

  // Bytes of tensors that were read so far.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  void accumulate(const DumpTensor& golden, const StoredTensor* golden_numbers, const DumpTensor& mine,
                  const StoredTensor* my_numbers);
  std::optional<DumpMetrics> compare_imaginary(const DumpTensor& golden, const DumpTensor& mine);
  DumpSummary summarise(const DumpTensor& tensor);
  TensorStatistics measure(const DumpTensor& tensor);
  std::optional<RecordedPair> add_recorded(const DumpTensor& golden, const DumpTensor& mine, Row& row);
  // Scales of a quantised product, of the sides that have them packed into integers.
  struct Scales {
    std::optional<PackedScales> golden;
    std::optional<PackedScales> mine;
  };
  // Nothing where neither side has, or nothing tells that they are scales.
  static std::optional<Scales> scales_of(const DumpTensor& golden, const DumpTensor& mine);
  // Whether the offsets differ that both sides have.
  bool compare_scales(const DumpTensor& golden, const DumpTensor& mine, const Scales& scales, Row& row);
  void compare_extremes(const DumpTensor& golden, const DumpTensor& mine);
  bool judge(const DumpMetrics* imaginary, const RecordedPair* recorded, Row& row) const;

  const bool checksums_;
  DumpPairAccumulator accumulator_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace msrun::torchair
