// Which metric of the documented walk (precision_metrics.md 7) decided against an output, and the limit that it missed.
#pragma once

#include <optional>
#include <string>

#include "kernels/compare/details.h"

namespace msrun::report {

struct MetricLimit {
  const char* relation = "";  // what the metric must be of the limit: "<", ">", "="
  double limit = 0;
};

// The limit of a metric in the walk; nothing for metrics that the walk does not look at. max_abs_error is that of
// MindSpore's comparison, which has its own.
std::optional<MetricLimit> limit_of(const DetailsRow& row, Metric metric, double max_abs_error);

// The metric that made an output a warning or an error; nothing where none did.
std::optional<Metric> failed_metric(const DetailsRow& row, double max_abs_error);

}  // namespace msrun::report
