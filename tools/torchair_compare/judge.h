// Whether two tensors that were compared agree (torchair.md 8.2), and what is to be said of them. What the rules see is
// in the row; what they say is added to its note.
#pragma once

#include "kernels/compare/metrics/dump_metrics.h"
#include "kernels/io/stored/tensor_statistics.h"
#include "tools/torchair_compare/row.h"

namespace msrun::torchair {

// What is known of two tensors besides the extremes.
struct RecordedPair {
  TensorStatistics golden;
  TensorStatistics mine;
};

// Two tensors; imaginary has the metrics of the imaginary parts, if the elements are complex numbers.
bool judge_tensors(const DumpMetrics* imaginary, Row& row);

// Two pairs of extremes, of which recorded tells more if it is there. Sets row.unchecked.
bool judge_statistics(const RecordedPair* recorded, Row& row);

}  // namespace msrun::torchair
