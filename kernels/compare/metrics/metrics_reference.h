// The metrics of a pair of float tensors, one element after the other, in float64 with every step rounded to the
// precision it has: the specification of the vectorised pass in metrics.cpp, which uses it for what is rare.
#pragma once

#include "kernels/compare/metrics/tally.h"

namespace msrun {

// Positions at which both sides are NaN, or the same infinity; a bench value that overflows the device dtype counts as
// infinity. They enter every metric as equal zeros.
bool same_nonfinite(const MetricTask& task, double d, double b);

class ElementTally {
 public:
  explicit ElementTally(const MetricTask& task) : task_(task) {}

  // One element of both sides.
  void add(double d, double b);

  // The parts of add, for a pass that does the rest itself. remove_nonfinite counts a pair that is not finite and makes
  // zeros of it where same_nonfinite.
  void remove_nonfinite(double& d, double& b);
  void add_ulp(double d, double b);

  const Tally& tally() const { return tally_; }

 private:
  void add_common(double d, double b);
  void add_benchmark(double d, double b);
  void add_rates(double d, double b);

  double ulp(double d, double b) const;
  double ulp_upstream(double d, double b) const;

  const MetricTask& task_;
  Tally tally_;
  double error_ = 0;  // AE and RE of the element at hand
  double relative_ = 0;
};

// As float_metrics.
FloatMetrics float_metrics_reference(const Tensor& bench, const Tensor& device, StandardSet standards, bool compat,
                                     Limits limits = Limits::current);

}  // namespace msrun
