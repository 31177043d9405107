// The metric that failed in the documented status walk, for those who show it.
#pragma once

#include <optional>

#include "kernels/compare/details.h"

namespace msrun {

// What a metric must be of its limit to pass.
struct MetricLimit {
  char relation = '<';  // '<', '>' or '='
  double limit = 0;

  bool holds(double value) const;
};

// The limit of a metric in the walk over the row's columns; nothing for metrics that the walk does not look at.
// max_abs_error is that of MindSpore's comparison, where it is known.
std::optional<MetricLimit> walk_limit(const DetailsRow& row, Metric metric, std::optional<double> max_abs_error);

// The metric that made an output a warning or an error; nothing where none did, or its limit is not known.
std::optional<Metric> failed_metric(const DetailsRow& row, std::optional<double> max_abs_error);

}  // namespace msrun
